#pragma once

#include <cstdint>
#include <vector>

#include "steps/policy.h"
#include "steps/step_record.h"

namespace eroica {

/// Where a rank stood when the job, or it alone, stopped.
struct LastStep {
  int32_t rank = 0;
  int64_t step = 0;
  double silent_s = 0;  ///< since its last record
};

/// Nothing has come for longer than it ever took.
struct BlockedFinding {
  bool all = true;       ///< false: of `ranks` only, while others go on
  int64_t since_ns = 0;  ///< when the last record came in
  int64_t since_unix_ns = 0;
  double silent_s = 0;
  double allowed_s = 0;
  double mean_step_s = 0;
  double longest_pause_s = 0;   ///< while healthy
  std::vector<LastStep> ranks;  ///< furthest behind first, at most 64 of them
  size_t more_ranks = 0;        ///< that are not listed
};

/// Finds out that a job stands still: no rank has ended a step for max(mean_multiple × the mean step, least_s,
/// pause_multiple × the longest pause while healthy), or one has not while the others went on. In the first ten steps
/// the wait for the first one counts as such a pause.
class BlockedDetector {
 public:
  /// `start_ns`: since when a first step is awaited.
  BlockedDetector(const BlockedPolicy& policy, int64_t start_ns) : policy_(policy), last_ns_(start_ns) {}

  enum class Change : uint8_t { kNone, kBlocked, kRecovered };

  /// A record came in.
  Change observe(const StepRecord& record, int64_t now_ns);
  /// The job ended a step.
  void step(double seconds);
  /// Time has passed; `ranks` as StepSeries knows them. kBlocked: finding() tells of it.
  Change tick(const std::vector<RankState>& ranks, int64_t now_ns);
  /// From `from_ns` to `to_ns` our own doing held the job up.
  void mask(int64_t from_ns, int64_t to_ns);

  [[nodiscard]] const BlockedFinding& finding() const { return finding_; }
  [[nodiscard]] bool blocked() const { return blocked_; }
  /// The pause after which the job counts as blocked.
  [[nodiscard]] double allowed_s() const;

 private:
  void tell(const std::vector<RankState>& ranks, int64_t now_ns, double allowed_s);

  BlockedPolicy policy_;
  bool begun_ = false;
  bool blocked_ = false;
  bool some_silent_ = false;
  int64_t last_ns_;
  int64_t last_unix_ns_ = 0;
  int64_t masked_from_ns_ = 0;
  int64_t masked_to_ns_ = 0;
  uint64_t steps_ = 0;
  double mean_step_s_ = 0;
  double first_pause_s_ = 0;  // until the first record
  double longest_pause_s_ = 0;
  BlockedFinding finding_;
};

}  // namespace eroica
