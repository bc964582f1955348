#include "compare/blocked.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/robust.h"
#include "base/saturate.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr double kSteps = 5;               // a wait is long beside the usual step …
constexpr double kLongestSteps = 2;        // … beside the longest step …
constexpr double kLongestCollectives = 3;  // … and beside the group's longest collective
constexpr double kLeastMs = 500;
constexpr double kSaveMs = 60'000;   // saving a checkpoint takes its time
constexpr double kStepsWithout = 3;  // no rank has completed a step for so many
constexpr double kPartOfWait = 0.5;
constexpr float kNoCores = 0.01F;
constexpr size_t kMostFrames = 24;
constexpr size_t kMostAsked = 256;  // ranks, for their steps

/// A place in a group's order of collectives.
struct Entered {
  uint32_t kind = 0;
  int64_t bytes = 0;
  bool operator<(const Entered& other) const { return std::pair(kind, bytes) < std::pair(other.kind, other.bytes); }
};

class Search {
 public:
  Search(const Job& job, const NameTable& names) : job_(&job), names_(&names) {
    for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      if (job.ranks[rank].observed) observed_.push_back(rank);
    }
  }

  std::optional<BlockedJob> run() {
    if (job_->opens.empty() || !is_still()) return std::nullopt;
    find_waiting();
    if (waits_.empty()) return std::nullopt;
    gather_groups();
    find_missing();
    if (missing_.empty() && blocked_.untraced.empty()) find_mismatch();
    if (missing_.empty() && blocked_.untraced.empty()) find_cycle();
    if (is_checkpoint()) return std::nullopt;
    return result();
  }

 private:
  struct Group {
    std::vector<uint32_t> waiting;  ///< whose first open collective is this group's
    std::vector<uint32_t> missing;
    std::vector<uint32_t> elsewhere;  ///< that wait in another group
  };

  // How long before the others each rank is no longer observed: within a host by its clock, between hosts by the length
  // of what was observed.
  void find_behind() {
    struct Span {
      int64_t begin_ns = INT64_MAX;
      int64_t end_ns = INT64_MIN;
    };
    const auto clock_of = [&](uint32_t index) {
      const uint32_t host = job_->ranks[index].host;
      return std::pair(host, host == 0 ? index : 0);  // of unknown hosts each is its own
    };
    std::map<std::pair<uint32_t, uint32_t>, Span> spans;
    for (const uint32_t index : observed_) {
      const RankFacts& rank = job_->ranks[index];
      Span& span = spans[clock_of(index)];
      span.begin_ns = std::min(span.begin_ns, saturating_add(rank.end_unix_ns, -ns(rank.observed_ms)));
      span.end_ns = std::max(span.end_ns, rank.end_unix_ns);
    }
    double longest_ms = 0;
    for (const auto& [clock, span] : spans) longest_ms = std::max(longest_ms, ms(span.begin_ns, span.end_ns));
    behind_ms_.assign(job_->ranks.size(), 0);
    for (const uint32_t index : observed_) {
      const Span& span = spans.at(clock_of(index));
      behind_ms_[index] = ms(job_->ranks[index].end_unix_ns, span.end_ns) + longest_ms - ms(span.begin_ns, span.end_ns);
    }
  }

  static int64_t ns(float ms) { return static_cast<int64_t>(static_cast<double>(ms) * 1e6); }
  static double ms(int64_t from_ns, int64_t to_ns) {
    return (static_cast<double>(to_ns) - static_cast<double>(from_ns)) * 1e-6;
  }

  // No rank whose process may live has completed a step for long.
  bool is_still() {
    find_behind();
    double least = 1e300;
    for (const uint32_t index : observed_) {
      const RankFacts& rank = job_->ranks[index];
      longest_step_ms_ = std::max<double>(longest_step_ms_, rank.longest_step_ms);
      least = std::min(least, rank.since_step_ms + behind_ms_[index]);
    }
    usual_step_ms_ = usual_step();
    return least >= kStepsWithout * usual_step_ms_;
  }

  // The median, which one step without an end does not move. 0: there are no steps.
  [[nodiscard]] double usual_step() const {
    std::vector<double> usual;
    const size_t stride = job_->ranks.size() / kMostAsked + 1;
    for (size_t i = 0; i < job_->ranks.size(); i += stride) {
      if (job_->ranks[i].step_source == StepSource::kWindow) continue;
      std::vector<double> durations;
      for (const StepFacts& step : job_->steps_of(job_->ranks[i])) durations.push_back(step.duration_ms);
      if (!durations.empty()) usual.push_back(median(durations));
    }
    return median(usual);
  }

  void find_waiting() {
    const double bound =
        std::max({kLeastMs, kSteps * usual_step_ms_, usual_step_ms_ > 0 ? kLongestSteps * longest_step_ms_ : 0.0});
    for (const RankEnd& end : job_->ends) {
      const auto opens = job_->opens_of(end);
      if (opens.empty() || is_gone(end.rank)) continue;
      const OpenUse& first = opens.front();
      if (first.waited_ms < bound || first.waited_ms < kLongestCollectives * first.longest_ms) continue;
      if (usual_step_ms_ <= 0 && first.waited_ms < kPartOfWait * job_->ranks[end.rank].window_ms) continue;
      waits_.emplace(end.rank, &first);
      blocked_.waited_ms = std::max<double>(blocked_.waited_ms, first.waited_ms);
    }
  }

  [[nodiscard]] double silent_ms(uint32_t rank) const { return job_->ranks[rank].silent_ms + behind_ms_[rank]; }

  // Nothing of it reaches into the time that others waited.
  [[nodiscard]] bool is_gone(uint32_t rank) const {
    return silent_ms(rank) > std::max(kLeastMs * kPartOfWait, kStepsWithout * usual_step_ms_);
  }

  [[nodiscard]] Absence absence_of(uint32_t rank) const {
    const bool silent = is_gone(rank);
    const RankEnd* end = end_of(*job_, rank);
    const bool sampled = end != nullptr && end->unsampled_ms >= 0 && others_sampled(rank);
    if (sampled && end->unsampled_ms > kPartOfWait * blocked_.waited_ms) return Absence::kGone;
    if (sampled && end->cpu_run >= 0 && end->cpu_run < kNoCores) return Absence::kStopped;
    if (silent) return sampled ? Absence::kGone : Absence::kGoneOrStopped;
    return Absence::kElsewhere;
  }

  // Samples of some other rank go on to the end.
  [[nodiscard]] bool others_sampled(uint32_t rank) const {
    return std::any_of(job_->ends.begin(), job_->ends.end(), [&](const RankEnd& end) {
      return end.rank != rank && end.unsampled_ms >= 0 && end.unsampled_ms < kPartOfWait * blocked_.waited_ms;
    });
  }

  // Of the groups that somebody waits in: who else is in it. Groups whose members are not known for certain tell
  // nothing.
  void gather_groups() {
    for (const auto& [rank, open] : waits_) groups_[open->group].waiting.push_back(rank);
    std::unordered_map<int32_t, uint32_t> index_of;
    for (const uint32_t rank : observed_) index_of.emplace(job_->ranks[rank].rank, rank);
    std::map<uint32_t, std::vector<uint32_t>> unlisted;
    for (const uint32_t rank : observed_) {
      for (const uint32_t group : job_->groups_of(job_->ranks[rank])) {
        if (job_->groups[group].ranks.empty() && groups_.contains(group)) unlisted[group].push_back(rank);
      }
    }
    for (auto& [index, group] : groups_) {
      const JobGroup& known = job_->groups[index];
      const auto add = [&, in = index](uint32_t member) {
        const auto wait = waits_.find(member);
        if (wait == waits_.end()) {
          groups_[in].missing.push_back(member);
        } else if (wait->second->group != in) {
          groups_[in].elsewhere.push_back(member);
        }
      };
      for (const int32_t rank : known.ranks) {
        const auto found = index_of.find(rank);
        if (found != index_of.end()) {
          add(found->second);
        } else {
          untraced_[index].push_back(rank);
        }
      }
      if (!known.ranks.empty()) continue;
      const std::vector<uint32_t>& members = unlisted[index];
      const size_t size = known.size > 0 ? static_cast<size_t>(known.size) : observed_.size();
      if (members.size() == size) std::for_each(members.begin(), members.end(), add);
    }
  }

  void find_missing() {
    size_t most = 0;
    for (const auto& [index, group] : groups_) {
      missing_.insert(group.missing.begin(), group.missing.end());
      if (!group.missing.empty() && group.waiting.size() > most) {
        most = group.waiting.size();
        speak_of(index);
      }
    }
    if (!missing_.empty()) {
      for (const uint32_t rank : missing_) absences_[rank] = absence_of(rank);
      return;
    }
    // Groups without a list of members: whoever waits for nothing.
    const bool known = std::any_of(groups_.begin(), groups_.end(),
                                   [&](const auto& group) { return !job_->groups[group.first].ranks.empty(); });
    if (!known && waits_.size() < observed_.size()) {
      for (const uint32_t rank : observed_) {
        if (waits_.contains(rank)) continue;
        missing_.insert(rank);
        absences_[rank] = absence_of(rank);
      }
      speak_of(largest_group());
      return;
    }
    for (const auto& [index, ranks] : untraced_) {
      if (ranks.size() > observed_.size()) continue;  // only a part of the job was looked at
      blocked_.untraced = ranks;
      speak_of(index);
    }
  }

  [[nodiscard]] uint32_t largest_group() const {
    const auto largest = std::max_element(groups_.begin(), groups_.end(), [](const auto& a, const auto& b) {
      return a.second.waiting.size() < b.second.waiting.size();
    });
    return largest->first;
  }

  void speak_of(uint32_t group) {
    blocked_.group = group;
    const OpenUse& open = *waits_.at(groups_[group].waiting.front());
    blocked_.kind = open.kind;
    blocked_.sequence = open.sequence;
  }

  // Members of one group in collectives of another kind or size: those are odd who are fewer; of as many those whose
  // rank never had such a one before.
  void find_mismatch() {
    for (const auto& [index, group] : groups_) {
      std::map<Entered, std::vector<uint32_t>> variants;
      for (const uint32_t rank : group.waiting) {
        const OpenUse& open = *waits_.at(rank);
        if (open.kind != 0 && is_exchange(job_->words[open.kind])) continue;
        variants[{open.kind, open.bytes}].push_back(rank);
      }
      if (variants.size() < 2 || !differ(variants)) continue;
      size_t most = 0;
      for (const auto& [entered, ranks] : variants) most = std::max(most, ranks.size());
      const bool clear = std::count_if(variants.begin(), variants.end(),
                                       [&](const auto& variant) { return variant.second.size() == most; }) == 1;
      std::vector<uint32_t> odd;
      for (const auto& [entered, ranks] : variants) {
        const bool is_odd = clear ? ranks.size() < most : waits_.at(ranks.front())->unusual;
        if (is_odd) odd.insert(odd.end(), ranks.begin(), ranks.end());
      }
      if (odd.empty() || odd.size() == group.waiting.size()) odd = group.waiting;
      for (const uint32_t rank : odd) {
        missing_.insert(rank);
        absences_[rank] = Absence::kMismatch;
      }
      for (const uint32_t rank : group.waiting) {
        if (!missing_.contains(rank)) blocked_.opposite.push_back(rank);
      }
      speak_of(index);
    }
  }

  // A size that was not told equals any.
  static bool differ(const std::map<Entered, std::vector<uint32_t>>& variants) {
    for (const auto& [a, ranks] : variants) {
      for (const auto& [b, others] : variants) {
        if (a.kind != b.kind || (a.bytes != b.bytes && a.bytes > 0 && b.bytes > 0)) return true;
      }
    }
    return false;
  }

  // All are in a collective, and some in another than members of their group: groups that wait for each other.
  void find_cycle() {
    std::map<uint32_t, std::set<uint32_t>> after;  // group → groups that its other members wait in
    for (const auto& [index, group] : groups_) {
      for (const uint32_t rank : group.elsewhere) after[index].insert(waits_.at(rank)->group);
    }
    for (const auto& [start, next] : after) {
      std::vector<uint32_t> path{start};
      std::set<uint32_t> on_path{start};
      uint32_t at = start;
      while (after.contains(at)) {
        at = *after[at].begin();
        if (!on_path.insert(at).second) break;
        path.push_back(at);
      }
      const auto loop = std::find(path.begin(), path.end(), at);
      if (!after.contains(at) || path.end() - loop < 2) continue;
      const std::set<uint32_t> in_loop(loop, path.end());
      for (const uint32_t group : in_loop) {
        for (const uint32_t rank : groups_[group].elsewhere) {
          if (!in_loop.contains(waits_.at(rank)->group)) continue;
          missing_.insert(rank);
          absences_[rank] = Absence::kCycle;
        }
      }
      speak_of(*loop);
      return;
    }
    speak_of(largest_group());
  }

  [[nodiscard]] bool is_checkpoint() const {
    if (blocked_.waited_ms >= kSaveMs) return false;
    return std::any_of(missing_.begin(), missing_.end(), [&](uint32_t rank) {
      const std::string stack = final_stack(*job_, *names_, rank);
      return stack.find("save") != std::string::npos || stack.find("serialization") != std::string::npos;
    });
  }

  BlockedJob result() {
    for (const auto& [rank, open] : waits_) {
      if (!missing_.contains(rank)) blocked_.waiting.push_back(rank);
    }
    for (const uint32_t rank : missing_) {
      blocked_.missing.push_back(rank);
      blocked_.absence.push_back(absences_.at(rank));
    }
    return std::move(blocked_);
  }

  const Job* job_;
  const NameTable* names_;
  std::vector<uint32_t> observed_;  // ranks of which there is a trace
  std::vector<double> behind_ms_;   // by rank
  double longest_step_ms_ = 0;
  double usual_step_ms_ = 0;
  std::map<uint32_t, const OpenUse*> waits_;  // by rank
  std::map<uint32_t, Group> groups_;          // that somebody waits in
  std::map<uint32_t, std::vector<int32_t>> untraced_;
  std::set<uint32_t> missing_;
  std::map<uint32_t, Absence> absences_;
  BlockedJob blocked_;
};

}  // namespace

std::optional<BlockedJob> find_blocked(const Job& job, const NameTable& names) { return Search(job, names).run(); }

const RankEnd* end_of(const Job& job, uint32_t rank) {
  const auto found = std::lower_bound(job.ends.begin(), job.ends.end(), rank,
                                      [](const RankEnd& end, uint32_t wanted) { return end.rank < wanted; });
  return found != job.ends.end() && found->rank == rank ? &*found : nullptr;
}

std::string final_stack(const Job& job, const NameTable& names, uint32_t rank) {
  const RankEnd* end = end_of(job, rank);
  if (end == nullptr || end->frame == 0) return {};
  const auto name = names.find(job.functions[end->frame - 1].hash);
  if (name == names.end()) return {};
  std::vector<std::string> frames = name->second.path;
  frames.push_back(name->second.file.empty() ? name->second.text : name->second.file + ": " + name->second.text);
  std::string stack;
  const size_t first = frames.size() > kMostFrames ? frames.size() - kMostFrames : 0;
  if (first > 0) stack = "… > ";
  for (size_t i = first; i < frames.size(); ++i) stack += (i > first ? " > " : "") + frames[i];
  return stack;
}

}  // namespace eroica
