#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "steps/policy.h"
#include "steps/slow_detector_levels.h"
#include "steps/slow_detector_stalls.h"
#include "steps/slow_detector_watch.h"
#include "steps/step_record.h"

namespace eroica {

/// In which way steps became slow.
enum class SlowKind : uint8_t {
  kShift,          ///< all of them, from one step to the next
  kDrift,          ///< all of them, little by little
  kLostTime,       ///< some of them, at no regular spacing
  kPeriodicStall,  ///< every n-th
};
std::string_view slow_kind_name(SlowKind kind);

/// A job's steps have become slower.
struct SlowFinding {
  SlowKind kind = SlowKind::kShift;
  bool worse = false;      ///< it was slow before; what follows compares with that
  int64_t onset_step = 0;  ///< number of the first slow step, as well as it can be told
  int64_t onset_unix_ns = 0;
  double level_ms = 0;          ///< median step since the onset
  double baseline_ms = 0;       ///< median while healthy
  double excess_ms = 0;         ///< mean time lost per step since the onset
  double baseline_mean_ms = 0;  ///< mean while healthy
  double period_steps = 0;      ///< of periodic stalls
  double stall_spacing_s = 0;   ///< mean time between two long steps, where such are what time is lost to; else 0
  uint32_t steps = 0;           ///< slow steps that it was told from
  uint32_t healthy_steps = 0;   ///< that they were compared with
  double standard_errors = 0;   ///< that the excess amounts to
  double confidence = 0;        ///< that more than chance is behind it
};

/// Finds out from the steps of a job when they become slow and when they are as before. Four watches:
/// - lasting shifts: a cumulative sum of rank scores against a sample of healthy steps;
/// - lost time: a cumulative sum of what single steps took longer, since what comes every n-th step moves no median;
/// - stalls at a regular spacing, unless the job had them from the start;
/// - the level (a median of the last steps) against the best one, for what comes so slowly that the sample follows it.
/// Limits follow from the healthy steps themselves, their tails and how they follow on each other, and from how seldom
/// a false alarm is wanted. Time and memory per step are bounded.
class SlowDetector {
 public:
  explicit SlowDetector(const SlowPolicy& policy);

  enum class Phase : uint8_t { kWarmUp, kLearning, kWatching, kSlow };
  enum class Change : uint8_t { kNone, kSlow, kRecovered };

  /// Takes a step; steps that are no measure (disturbed, with an evaluation in them) are left out by the caller.
  /// kSlow: finding() tells of it.
  Change push(const JobStep& step);
  /// The job began again, with as many ranks as before or not.
  void restart(bool same_ranks);

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const SlowFinding& finding() const { return finding_; }
  /// Healthy steps seen so far.
  [[nodiscard]] int64_t healthy_steps() const { return healthy_steps_; }
  /// Median healthy step; 0 = not known yet.
  [[nodiscard]] double baseline_seconds() const { return watch_.usual().level(); }

 private:
  struct Seen {
    double seconds = 0;
    int64_t number = 0;
    int64_t unix_ns = 0;
    int64_t now_ns = 0;
  };
  struct Suspicion {
    SlowKind kind;
    int64_t onset;  // place
    double period_steps = 0;
  };
  static constexpr int64_t kRing = 256;
  static constexpr int64_t kLag = 64;  ///< steps are learned only when it is known what came after them

  [[nodiscard]] Seen& seen(int64_t place) { return ring_[static_cast<size_t>(place % kRing)]; }
  [[nodiscard]] const Seen& seen(int64_t place) const { return ring_[static_cast<size_t>(place % kRing)]; }
  [[nodiscard]] int64_t oldest() const { return place_ < kRing ? 0 : place_ - kRing + 1; }

  Change watch(double seconds);
  Change watch_slow(double seconds);
  std::optional<Suspicion> suspicion(const UsualWatch& watch, double least_shift, double least_lost) const;
  std::optional<Suspicion> stalls(double seconds);
  std::optional<Suspicion> level();
  void tell(const Suspicion& suspicion, const UsualWatch& watch, bool worse);
  void learn_lagging(UsualWatch& watch, int64_t not_before);
  void review_faster();
  [[nodiscard]] int64_t refined_onset(const UsualWatch& watch, int64_t since) const;
  [[nodiscard]] int64_t lost_time_onset(const StepReference& usual, int64_t since, double least) const;
  [[nodiscard]] double median_between(int64_t from, int64_t to) const;
  [[nodiscard]] double stall_spacing_s(int64_t onset) const;
  [[nodiscard]] bool lasts(int64_t onset, double times = 1) const;

  SlowPolicy policy_;
  Phase phase_ = Phase::kWarmUp;
  UsualWatch watch_;  // against healthy steps
  UsualWatch worse_;  // against slow ones, once slow
  StallWatch stall_watch_;
  LevelWatch level_watch_;
  LevelHistory history_;
  std::array<Seen, kRing> ring_{};
  int64_t place_ = -1;      // of the newest step
  int64_t phase_from_ = 0;  // place
  int64_t healthy_steps_ = 0;
  int64_t began_ = 0;  // place since when stalls count as from the start
  SlowFinding finding_;
  // Recovery: a cumulative sum that leans towards the healthy mean.
  CumulativeSum recovery_;
  double recovery_middle_ = 0;
  double recovery_limit_ = 0;
};

}  // namespace eroica
