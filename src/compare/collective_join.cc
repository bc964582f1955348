#include "compare/collective_join.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/rank_list.h"
#include "base/robust.h"
#include "base/saturate.h"
#include "compare/process_group.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr size_t kMostAlignedKinds = 3;  // whose intervals are looked at; lags cost the ends' square
constexpr size_t kMostAlignedEnds = 256;
constexpr size_t kLeastAlignedEnds = 9;
constexpr int64_t kLeastToleranceNs = 50'000;  // between ends that are one
constexpr int64_t kOfSpread = 4;
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

struct Instance {
  uint32_t kind = 0;  // in Party::kinds
  int64_t sequence = -1;
  int64_t end_ns = 0;  // since the window's start, own clock
  int64_t duration_ns = 0;
  int64_t bytes = 0;
};

using Alike = std::pair<uint32_t, int64_t>;  // kind and size
Alike alike(const Instance& instance) { return {instance.kind, instance.bytes}; }

/// A member with its instances, by end.
struct Member {
  int32_t rank = -1;
  const RankPattern* pattern = nullptr;
  std::vector<Instance> instances;
  std::map<uint32_t, uint32_t> summaries;  // by kind
};

/// Those who take part in the same collectives.
struct Party {
  std::string group;
  size_t size = 0;       // that it should have; 0 = not told
  bool is_told = false;  // who its members are
  std::vector<std::string> kinds;
  std::map<std::string, uint32_t> kind_index;
  std::vector<Member> members;

  uint32_t kind(const std::string& name) {
    const auto [found, is_new] = kind_index.try_emplace(name, static_cast<uint32_t>(kinds.size()));
    if (is_new) kinds.push_back(name);
    return found->second;
  }

  Member& member(const RankPattern& pattern) {
    if (members.empty() || members.back().rank != pattern.rank) {
      members.push_back({.rank = pattern.rank, .pattern = &pattern});
    }
    return members.back();
  }

  /// More ranks than it has members: they are of several groups of one name.
  [[nodiscard]] bool is_one_group() const { return is_told || (size > 0 && members.size() <= size); }
};

class Parties {
 public:
  void add(const RankPattern& pattern) {
    for (const CollectiveInstance& instance : pattern.instances) {
      if (instance.summary >= pattern.collectives.size() || instance.duration_ns <= 0) continue;
      const CollectiveSummary& summary = pattern.collectives[instance.summary];
      if (summary.group >= pattern.groups.size()) continue;
      const int64_t end_ns = saturating_add(instance.start_ns, instance.duration_ns);
      if (instance.start_ns <= 0 || end_ns >= pattern.window_ns) continue;  // cut
      const GroupPattern& group = pattern.groups[summary.group];
      const auto message = message_of(pattern.rank, summary.kind, group, instance.peer);
      if (!message && !is_barrier(summary.kind)) continue;
      Party& party = party_of(group, message);
      Member& member = party.member(pattern);
      const uint32_t kind =
          party.kind((message ? "message" : summary.kind) + (summary.dtype.empty() ? "" : " ") + summary.dtype);
      member.summaries.try_emplace(kind, instance.summary);
      // Each rank counts its own messages.
      member.instances.push_back(
          {kind, message ? -1 : instance.sequence, end_ns, instance.duration_ns, instance.bytes});
    }
  }

  std::vector<Party> take() { return std::move(parties_); }

 private:
  using Message = std::pair<int32_t, int32_t>;  // from whom to whom

  static std::optional<Message> message_of(int32_t rank, const std::string& kind, const GroupPattern& group,
                                           int32_t peer) {
    const std::optional<int32_t> other = peer_rank(group, peer);
    if (!other || *other == rank) return std::nullopt;
    if (kind == "send") return Message(rank, *other);
    if (kind == "recv") return Message(*other, rank);
    return std::nullopt;
  }

  Party& party_of(const GroupPattern& group, const std::optional<Message>& message) {
    std::string key = group_key(group);
    if (message) key += fmt::format("\n{}\n{}", message->first, message->second);
    const auto [found, is_new] = index_.try_emplace(std::move(key), parties_.size());
    if (is_new) {
      Party& party = parties_.emplace_back();
      party.group = group.name.empty() ? group.desc : group.name;
      party.is_told = message || !group.ranks.empty();
      party.size = message                ? 2
                   : !group.ranks.empty() ? group.ranks.size()
                                          : static_cast<size_t>(std::max(group.size, 0));
    }
    return parties_[found->second];
  }

  std::vector<Party> parties_;
  std::map<std::string, size_t> index_;
};

/// For each of the reference's instances the same one of the other member; kNone where it has none.
using Matched = std::vector<uint32_t>;

struct Numbered {
  std::pair<int64_t, uint32_t> number;  // sequence and kind
  uint32_t place = 0;                   // in Member::instances
  auto operator<=>(const Numbered&) const = default;
};

/// Those with a number of their own, ascending.
std::vector<Numbered> numbered(const Member& member) {
  std::vector<Numbered> all;
  for (uint32_t i = 0; i < member.instances.size(); ++i) {
    const Instance& one = member.instances[i];
    if (one.sequence >= 0) all.push_back({{one.sequence, one.kind}, i});
  }
  std::ranges::sort(all);
  std::vector<Numbered> once;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_first = i == 0 || all[i - 1].number != all[i].number;
    const bool is_last = i + 1 == all.size() || all[i + 1].number != all[i].number;
    if (is_first && is_last) once.push_back(all[i]);
  }
  return once;
}

/// Finds ends of a kind and size by time.
class EndIndex {
 public:
  explicit EndIndex(const Member& member) : instances_(member.instances) {
    for (uint32_t i = 0; i < instances_.size(); ++i) alike_[alike(instances_[i])].push_back(i);
  }

  /// Of the end nearest to that of `to` on a clock that is ahead by `shift_ns`; kNone: it is further than `most_ns`.
  [[nodiscard]] uint32_t nearest(const Instance& to, int64_t shift_ns, int64_t most_ns) const {
    const auto found = alike_.find(alike(to));
    if (found == alike_.end()) return kNone;
    const std::vector<uint32_t>& places = found->second;
    const int64_t at_ns = saturating_add(to.end_ns, shift_ns);
    const auto end_of = [&](uint32_t i) { return instances_[i].end_ns; };
    const auto next = std::ranges::lower_bound(places, at_ns, {}, end_of);
    uint32_t best = kNone;
    for (auto place = next == places.begin() ? next : next - 1; place != places.end(); ++place) {
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
  const std::vector<Instance>& instances_;
  std::map<Alike, std::vector<uint32_t>> alike_;
};

/// The rarest kinds that are still frequent enough: few ends of them span much time.
std::vector<uint32_t> rarest_kinds(const Member& member) {
  std::map<uint32_t, size_t> counts;
  for (const Instance& one : member.instances) ++counts[one.kind];
  std::vector<std::pair<size_t, uint32_t>> kinds;
  for (const auto& [kind, count] : counts) {
    if (count >= kLeastAlignedEnds) kinds.emplace_back(count, kind);
  }
  std::ranges::sort(kinds);
  if (kinds.size() > kMostAlignedKinds) kinds.resize(kMostAlignedKinds);
  std::vector<uint32_t> result;
  result.reserve(kinds.size());
  for (const auto& [count, kind] : kinds) result.push_back(kind);
  return result;
}

std::vector<CollectiveEnd> ends_of(const Member& member, const std::vector<uint32_t>& kinds) {
  std::vector<CollectiveEnd> ends;
  std::map<uint32_t, size_t> taken;
  for (const Instance& one : member.instances) {
    const bool counts = std::ranges::find(kinds, one.kind) != kinds.end();
    if (counts && ++taken[one.kind] <= kMostAlignedEnds) ends.push_back({one.kind, -1, one.end_ns});
  }
  return ends;
}

struct Alignment {
  AlignedBy by = AlignedBy::kNothing;
  Matched matched;
  int64_t spread_ns = 0;
  std::string why;
};

/// The member with most instances, and how the others' are found beside its own.
class Reference {
 public:
  explicit Reference(const Member& member)
      : member_(member),
        numbers_(numbered(member)),
        index_(member),
        kinds_(rarest_kinds(member)),
        ends_(ends_of(member, kinds_)) {}

  [[nodiscard]] Alignment align(const Member& other) const {
    Alignment result;
    result.matched.assign(member_.instances.size(), kNone);
    if (&other == &member_) {
      for (uint32_t i = 0; i < result.matched.size(); ++i) result.matched[i] = i;
    } else if (!by_sequence(other, result)) {
      by_intervals(other, result);
    }
    return result;
  }

 private:
  bool by_sequence(const Member& other, Alignment& result) const {
    std::vector<double> differences_ns;
    const std::vector<Numbered> others = numbered(other);
    auto theirs = others.begin();
    for (const Numbered& own : numbers_) {
      while (theirs != others.end() && theirs->number < own.number) ++theirs;
      if (theirs == others.end()) break;
      if (theirs->number != own.number) continue;
      result.matched[own.place] = theirs->place;
      differences_ns.push_back(static_cast<double>(member_.instances[own.place].end_ns) -
                               static_cast<double>(other.instances[theirs->place].end_ns));
    }
    if (differences_ns.empty()) return false;
    const double offset_ns = median(differences_ns);
    for (double& difference : differences_ns) difference = std::abs(difference - offset_ns);
    result.by = AlignedBy::kSequence;
    result.spread_ns = static_cast<int64_t>(quantile(differences_ns, 0.9));
    result.why = "joined by their sequence numbers";
    return true;
  }

  /// Each with the nearest end of its kind and size, if that is near and has no nearer one itself.
  void by_intervals(const Member& other, Alignment& result) const {
    const EndIndex others(other);
    const ClockAlignment clocks = align_clocks(ends_, ends_of(other, kinds_));
    result.by = clocks.by;
    result.why = clocks.why;
    if (clocks.by == AlignedBy::kNothing) return;
    result.spread_ns = clocks.spread_ns;
    const int64_t most_ns = std::max(kLeastToleranceNs, saturating_multiply(clocks.spread_ns, kOfSpread));
    const int64_t back_ns = saturating_subtract(0, clocks.offset_ns);
    for (uint32_t i = 0; i < result.matched.size(); ++i) {
      const uint32_t place = others.nearest(member_.instances[i], back_ns, most_ns);
      if (place == kNone) continue;
      if (index_.nearest(other.instances[place], clocks.offset_ns, most_ns) == i) result.matched[i] = place;
    }
  }

  const Member& member_;
  std::vector<Numbered> numbers_;
  EndIndex index_;
  std::vector<uint32_t> kinds_;
  std::vector<CollectiveEnd> ends_;
};

struct Aligned {
  const Member* member;
  Alignment alignment;

  [[nodiscard]] size_t matches() const {
    return alignment.matched.size() - static_cast<size_t>(std::ranges::count(alignment.matched, kNone));
  }
};

struct Alignments {
  std::vector<Aligned> members;  // the reference among them
  const Member* reference = nullptr;
  AlignedBy by = AlignedBy::kNothing;
  int64_t spread_ns = 0;
  std::string why;
};

/// A member that shares few instances, as one whose trace is short, would leave few for the others.
std::vector<int32_t> leave_out_short_ones(std::vector<Aligned>& members) {
  std::vector<double> matches;
  matches.reserve(members.size());
  for (const Aligned& one : members) matches.push_back(static_cast<double>(one.matches()));
  const double least = median(matches) / 2;
  std::vector<int32_t> left_out;
  std::erase_if(members, [&](const Aligned& one) {
    const bool is_short = static_cast<double>(one.matches()) < least;
    if (is_short) left_out.push_back(one.member->rank);
    return is_short;
  });
  return left_out;
}

Alignments align_with(const Party& party, const Member& reference) {
  Alignments result;
  result.reference = &reference;
  const Reference beside(reference);
  std::vector<int32_t> apart;
  std::string why_apart;
  for (const Member& member : party.members) {
    Alignment alignment = beside.align(member);
    if (alignment.by == AlignedBy::kNothing && &member != &reference) {
      apart.push_back(member.rank);
      why_apart = alignment.why;
      continue;
    }
    result.members.push_back({&member, std::move(alignment)});
  }
  const std::vector<int32_t> short_ones = leave_out_short_ones(result.members);
  for (const Aligned& one : result.members) {
    result.spread_ns = std::max(result.spread_ns, one.alignment.spread_ns);
    if (one.alignment.by == AlignedBy::kNothing) continue;
    if (result.by == AlignedBy::kNothing) result.why = one.alignment.why;
    result.by = one.alignment.by;
  }
  const auto add = [&](const std::string& more) { result.why += (result.why.empty() ? "" : "; ") + more; };
  if (!apart.empty()) add(fmt::format("{} not aligned: {}", rank_list(apart), why_apart));
  if (!short_ones.empty()) add(fmt::format("{}: few of its instances are the others'", rank_list(short_ones)));
  if (party.members.size() < party.size) {
    add(fmt::format("{} of {} members have instances here", party.members.size(), party.size));
  }
  return result;
}

/// Beside the member with most instances, or beside the next where more of them can be aligned with that.
Alignments align(const Party& party) {
  constexpr size_t kMostTried = 3;
  std::vector<const Member*> candidates;
  candidates.reserve(party.members.size());
  for (const Member& member : party.members) candidates.push_back(&member);
  std::ranges::stable_sort(candidates, std::ranges::greater(),
                           [](const Member* member) { return member->instances.size(); });
  std::optional<Alignments> best;
  for (size_t i = 0; i < std::min(kMostTried, candidates.size()); ++i) {
    Alignments found = align_with(party, *candidates[i]);
    if (!best || found.members.size() > best->members.size()) best = std::move(found);
    if (2 * best->members.size() > party.members.size()) break;
  }
  return *std::move(best);
}

bool is_counted(const StepPattern& step) { return step.complete && !step.irregular; }

bool is_in(const StepPattern& step, int64_t at_ns) {
  return is_counted(step) && step.start_ns <= at_ns && at_ns - step.start_ns < step.duration_ns;
}

/// Instances of a kind a complete step, those that run at once counted once in proportion.
double instances_per_step(const Member& member, uint32_t kind, uint32_t in_summary) {
  const RankPattern& pattern = *member.pattern;
  const auto steps = std::ranges::count_if(pattern.steps, is_counted);
  double count = 0;
  for (const Instance& one : member.instances) {
    if (one.kind != kind) continue;
    const int64_t begin_ns = saturating_subtract(one.end_ns, one.duration_ns);
    const bool counts = steps == 0 || std::ranges::any_of(pattern.steps, [&](const StepPattern& step) {
                          return is_in(step, begin_ns);
                        });
    if (counts) ++count;
  }
  double summed_ns = 0;
  for (const CollectiveInstance& one : pattern.instances) {
    if (one.summary == in_summary) summed_ns += static_cast<double>(one.duration_ns);
  }
  const auto kept = static_cast<double>(pattern.instances.size());
  const double scale = std::max(1.0, static_cast<double>(pattern.instances_seen) / kept);  // of a sample
  const auto total_ns = static_cast<double>(pattern.collectives[in_summary].total_ns);
  const double at_once = total_ns > 0 ? std::min(1.0, total_ns / (summed_ns * scale)) : 1;
  return count * scale * at_once / static_cast<double>(std::max<int64_t>(steps, 1));
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
  result.why = alignments.why;
  std::vector<const Aligned*> taking_part;
  for (const Aligned& aligned : alignments.members) {
    const Member& member = *aligned.member;
    const auto summary = member.summaries.find(kind);
    if (summary == member.summaries.end()) continue;
    taking_part.push_back(&aligned);
    result.members.push_back({.rank = member.rank,
                              .summary = summary->second,
                              .per_step = instances_per_step(member, kind, summary->second)});
  }
  std::vector<int64_t> durations_ns(taking_part.size());
  for (size_t i = 0; i < alignments.reference->instances.size(); ++i) {
    if (alignments.reference->instances[i].kind != kind) continue;
    ++result.seen;
    bool all = taking_part.size() >= 2;
    for (size_t m = 0; m < taking_part.size() && all; ++m) {
      const uint32_t place = taking_part[m]->alignment.matched[i];
      all = place != kNone;
      if (all) durations_ns[m] = taking_part[m]->member->instances[place].duration_ns;
    }
    if (all) add_instance(durations_ns, result);
  }
  if (result.joined == 0) {
    if (alignments.by != AlignedBy::kNothing) result.why = "no instance was found on all members";
    return result;
  }
  const auto count = static_cast<double>(result.joined);
  result.by = alignments.by;
  result.whole = taking_part.size() == std::max(party.size, party.members.size());
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
    if (party.members.size() < 2 || !party.is_one_group()) continue;
    for (Member& member : party.members) std::ranges::stable_sort(member.instances, {}, &Instance::end_ns);
    const Alignments alignments = align(party);
    for (uint32_t kind = 0; kind < party.kinds.size(); ++kind) {
      result.push_back(joined_kind(party, kind, alignments));
    }
  }
  return result;
}

}  // namespace eroica
