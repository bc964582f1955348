#include "compare/collective_join.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/rank_list.h"
#include "base/saturate.h"
#include "compare/process_group.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr size_t kFewMembers = 16;
constexpr size_t kMostEndsOfMany = 192;        // that are aligned, in larger groups: lags cost their square
constexpr int64_t kLeastToleranceNs = 50'000;  // between ends that are one
constexpr int64_t kOfSpread = 4;

struct Instance {
  uint32_t kind = 0;  // in Party::kinds
  int64_t sequence = -1;
  int64_t end_ns = 0;  // since the window's start, own clock
  int64_t duration_ns = 0;
  int64_t bytes = 0;
};

/// A member with its instances, by end.
struct Member {
  int32_t rank = -1;
  int64_t window_ns = 0;
  std::vector<Instance> instances;
  std::map<uint32_t, uint32_t> summaries;  // by kind
};

/// Those who take part in the same collectives.
struct Party {
  std::string group;
  int32_t size = -1;  // of the group, where its ranks are not told
  std::vector<std::string> kinds;
  std::map<std::string, uint32_t> kind_index;
  std::vector<Member> members;

  uint32_t kind(const std::string& name) {
    const auto [found, is_new] = kind_index.try_emplace(name, static_cast<uint32_t>(kinds.size()));
    if (is_new) kinds.push_back(name);
    return found->second;
  }

  Member& member(const RankPattern& pattern) {
    if (members.empty() || members.back().rank != pattern.rank)
      members.push_back({.rank = pattern.rank, .window_ns = pattern.window_ns});
    return members.back();
  }
};

class Parties {
 public:
  void add(const RankPattern& pattern) {
    for (const CollectiveInstance& instance : pattern.instances) {
      if (instance.summary >= pattern.collectives.size() || instance.duration_ns <= 0) continue;
      const CollectiveSummary& summary = pattern.collectives[instance.summary];
      if (summary.group >= pattern.groups.size()) continue;
      const GroupPattern& group = pattern.groups[summary.group];
      std::string key = group_key(group);
      std::string kind = summary.dtype.empty() ? summary.kind : summary.kind + ' ' + summary.dtype;
      int64_t sequence = instance.sequence;
      if (const auto message = message_of(pattern.rank, summary.kind, group, instance.peer)) {
        key += fmt::format("\n{}\n{}", message->first, message->second);
        kind = "message";
        sequence = -1;  // each rank counts its own
      } else if (!is_barrier(summary.kind)) {
        continue;
      }
      Party& party = party_of(key, group);
      Member& member = party.member(pattern);
      const uint32_t of = party.kind(kind);
      member.summaries.try_emplace(of, instance.summary);
      member.instances.push_back({of, sequence, saturating_add(instance.start_ns, instance.duration_ns),
                                  instance.duration_ns, instance.bytes});
    }
  }

  std::vector<Party> take() { return std::move(parties_); }

 private:
  /// From whom to whom.
  static std::optional<std::pair<int32_t, int32_t>> message_of(int32_t rank, const std::string& kind,
                                                               const GroupPattern& group, int32_t peer) {
    const std::optional<int32_t> other = peer_rank(group, peer);
    if (!other || *other == rank) return std::nullopt;
    if (kind == "send") return std::pair(rank, *other);
    if (kind == "recv") return std::pair(*other, rank);
    return std::nullopt;
  }

  Party& party_of(const std::string& key, const GroupPattern& group) {
    const auto [found, is_new] = index_.try_emplace(key, parties_.size());
    if (is_new) {
      Party& party = parties_.emplace_back();
      party.group = group.name.empty() ? group.desc : group.name;
      if (group.ranks.empty()) party.size = group.size;
    }
    return parties_[found->second];
  }

  std::vector<Party> parties_;
  std::map<std::string, size_t> index_;
};

std::vector<CollectiveEnd> ends_of(const Member& member, size_t most) {
  std::vector<CollectiveEnd> ends;
  std::map<uint32_t, size_t> taken;
  for (const Instance& instance : member.instances) {
    if (instance.sequence < 0 && ++taken[instance.kind] > most) continue;
    // Numbers count all kinds of a group.
    ends.push_back({instance.sequence >= 0 ? 0 : 1 + uint64_t{instance.kind}, instance.sequence, instance.end_ns});
  }
  return ends;
}

/// For each of the reference's instances the same one of the other member; kNone where it has none.
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

std::vector<uint32_t> matched_by_sequence(const Member& reference, const Member& other) {
  std::map<std::pair<uint32_t, int64_t>, uint32_t> places;
  for (uint32_t i = 0; i < other.instances.size(); ++i) {
    const Instance& instance = other.instances[i];
    if (instance.sequence < 0) continue;
    const auto [place, is_new] = places.try_emplace({instance.kind, instance.sequence}, i);
    if (!is_new) place->second = kNone;
  }
  std::vector<uint32_t> matched(reference.instances.size(), kNone);
  for (size_t i = 0; i < matched.size(); ++i) {
    const Instance& instance = reference.instances[i];
    const auto place = places.find({instance.kind, instance.sequence});
    if (instance.sequence >= 0 && place != places.end()) matched[i] = place->second;
  }
  return matched;
}

/// Finds ends of a kind and size by time.
class EndIndex {
 public:
  explicit EndIndex(const Member& member) : instances_(member.instances) {
    for (uint32_t i = 0; i < instances_.size(); ++i) alike_[key(instances_[i])].push_back(i);
  }

  /// Of the end nearest to that of `to` on a clock that is ahead by `shift_ns`; kNone: it is further than `most_ns`.
  [[nodiscard]] uint32_t nearest(const Instance& to, int64_t shift_ns, int64_t most_ns) const {
    const auto alike = alike_.find(key(to));
    if (alike == alike_.end()) return kNone;
    const int64_t at_ns = saturating_add(to.end_ns, shift_ns);
    const auto end_of = [&](uint32_t i) { return instances_[i].end_ns; };
    const auto next = std::ranges::lower_bound(alike->second, at_ns, {}, end_of);
    uint32_t best = kNone;
    for (auto place = next == alike->second.begin() ? next : next - 1; place != alike->second.end(); ++place) {
      const int64_t apart_ns =
          std::max(saturating_subtract(end_of(*place), at_ns), saturating_subtract(at_ns, end_of(*place)));
      if (apart_ns <= most_ns) {
        best = *place;
        most_ns = apart_ns - 1;
      }
      if (place == next) break;
    }
    return best;
  }

 private:
  using Key = std::pair<uint32_t, int64_t>;
  static Key key(const Instance& instance) { return {instance.kind, instance.bytes}; }

  const std::vector<Instance>& instances_;
  std::map<Key, std::vector<uint32_t>> alike_;
};

/// The nearest end of its kind and size, if that is near and has no nearer one itself.
std::vector<uint32_t> matched_by_end(const Member& reference, const Member& other, const ClockAlignment& alignment) {
  const int64_t most_ns = std::max(kLeastToleranceNs, saturating_multiply(alignment.spread_ns, kOfSpread));
  const EndIndex references(reference);
  const EndIndex others(other);
  std::vector<uint32_t> matched(reference.instances.size(), kNone);
  for (uint32_t i = 0; i < matched.size(); ++i) {
    const int64_t back_ns = saturating_subtract(0, alignment.offset_ns);
    const uint32_t place = others.nearest(reference.instances[i], back_ns, most_ns);
    if (place == kNone) continue;
    if (references.nearest(other.instances[place], alignment.offset_ns, most_ns) == i) matched[i] = place;
  }
  return matched;
}

struct Aligned {
  const Member* member;
  std::vector<uint32_t> matched;  // by the reference's instance
};

struct Alignments {
  std::vector<Aligned> members;  // the reference among them
  const Member* reference = nullptr;
  std::vector<int32_t> apart;
  AlignedBy by = AlignedBy::kNothing;
  int64_t spread_ns = 0;
  std::string why;
};

Alignments align(const Party& party) {
  Alignments result;
  for (const Member& member : party.members) {
    if (result.reference == nullptr || member.instances.size() > result.reference->instances.size())
      result.reference = &member;
  }
  const Member& reference = *result.reference;
  const size_t most = party.members.size() > kFewMembers ? kMostEndsOfMany : std::numeric_limits<size_t>::max();
  const std::vector<CollectiveEnd> reference_ends = ends_of(reference, most);
  std::string why_not;
  for (const Member& member : party.members) {
    Aligned aligned{&member, {}};
    if (&member == &reference) {
      for (uint32_t i = 0; i < reference.instances.size(); ++i) aligned.matched.push_back(i);
    } else {
      const ClockAlignment alignment = align_clocks(reference_ends, ends_of(member, most));
      if (alignment.by == AlignedBy::kNothing) {
        result.apart.push_back(member.rank);
        why_not = alignment.why;
        continue;
      }
      result.by = alignment.by;
      if (result.why.empty()) result.why = alignment.why;
      result.spread_ns = std::max(result.spread_ns, alignment.spread_ns);
      aligned.matched = alignment.by == AlignedBy::kSequence ? matched_by_sequence(reference, member)
                                                             : matched_by_end(reference, member, alignment);
    }
    result.members.push_back(std::move(aligned));
  }
  if (!why_not.empty()) {
    result.why += fmt::format("{}{} not aligned: {}", result.why.empty() ? "" : "; ", rank_list(result.apart), why_not);
  }
  return result;
}

/// The median of all but the one at `place`.
double median_of_others(std::span<const int64_t> sorted, size_t place) {
  const size_t others = sorted.size() - 1;
  const auto at = [&](size_t i) { return static_cast<double>(sorted[i < place ? i : i + 1]); };
  return others % 2 == 1 ? at(others / 2) : (at(others / 2) + at(others / 2 - 1)) / 2;
}

void add_instance(const std::vector<int64_t>& durations_ns, JoinedCollective& into) {
  std::vector<int64_t> sorted = durations_ns;
  std::ranges::sort(sorted);
  into.last_us += static_cast<double>(sorted.front()) * 1e-3;
  for (size_t i = 0; i < durations_ns.size(); ++i) {
    const auto own = static_cast<double>(durations_ns[i]);
    const auto place = static_cast<size_t>(std::ranges::lower_bound(sorted, durations_ns[i]) - sorted.begin());
    into.members[i].late_us += std::max(0.0, median_of_others(sorted, place) - own) * 1e-3;
    into.members[i].wait_us += (own - static_cast<double>(sorted.front())) * 1e-3;
  }
  ++into.joined;
}

JoinedCollective joined_kind(const Party& party, uint32_t kind, const Alignments& alignments) {
  JoinedCollective result;
  result.kind = party.kinds[kind];
  result.group = party.group;
  result.apart = alignments.apart;
  result.why = alignments.why;
  result.window_ms = static_cast<double>(alignments.reference->window_ns) * 1e-6;
  std::vector<const Aligned*> taking_part;
  for (const Aligned& aligned : alignments.members) {
    const auto summary = aligned.member->summaries.find(kind);
    if (summary == aligned.member->summaries.end()) continue;
    taking_part.push_back(&aligned);
    result.members.push_back({.rank = aligned.member->rank, .summary = summary->second});
  }
  std::vector<int64_t> durations_ns(taking_part.size());
  for (size_t i = 0; i < alignments.reference->instances.size(); ++i) {
    if (alignments.reference->instances[i].kind != kind) continue;
    ++result.seen;
    bool all = taking_part.size() >= 2;
    for (size_t m = 0; m < taking_part.size() && all; ++m) {
      const uint32_t place = taking_part[m]->matched[i];
      all = place != kNone;
      if (all) durations_ns[m] = taking_part[m]->member->instances[place].duration_ns;
    }
    if (all) add_instance(durations_ns, result);
  }
  if (result.joined == 0) return result;
  const auto count = static_cast<double>(result.joined);
  result.by = alignments.by;
  result.error_us = static_cast<double>(alignments.spread_ns) * 1e-3;
  result.last_us /= count;
  for (JoinedMember& member : result.members) {
    member.late_us /= count;
    member.wait_us /= count;
  }
  return result;
}

}  // namespace

std::vector<JoinedCollective> join_collectives(std::span<const RankPattern> patterns) {
  std::vector<const RankPattern*> by_rank;
  by_rank.reserve(patterns.size());
  for (const RankPattern& pattern : patterns) by_rank.push_back(&pattern);
  std::ranges::sort(by_rank, {}, [](const RankPattern* pattern) { return pattern->rank; });
  Parties parties;
  for (const RankPattern* pattern : by_rank) parties.add(*pattern);
  std::vector<JoinedCollective> result;
  for (Party& party : parties.take()) {
    if (party.members.size() < 2) continue;
    const bool is_known = party.size < 0 || party.members.size() <= static_cast<size_t>(party.size);
    if (!is_known) continue;
    for (Member& member : party.members) std::ranges::stable_sort(member.instances, {}, &Instance::end_ns);
    const Alignments alignments = align(party);
    for (uint32_t kind = 0; kind < party.kinds.size(); ++kind) {
      result.push_back(joined_kind(party, kind, alignments));
    }
  }
  return result;
}

}  // namespace eroica
