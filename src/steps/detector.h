#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "steps/blocked_detector.h"
#include "steps/policy.h"
#include "steps/published_detector.h"
#include "steps/slow_detector.h"
#include "steps/step_record.h"
#include "steps/window_budget.h"

namespace eroica {

/// One reason, for people: what, how much.
struct DetectorReason {
  std::string what;
  double value = 0;
  std::string unit;  ///< as amount_text() takes it
};

struct DetectorEvent {
  enum class Kind : uint8_t {
    kSlow,       ///< `slow` tells of it; also when it got worse
    kStillSlow,  ///< as `slow` told before; now a window may be taken that could not be then
    kRecovered,  ///< steps are as they were
    kBlocked,    ///< `blocked` tells of it
    kUnblocked,  ///< it goes on
    kBaseline,   ///< healthy; a window to compare later ones with
    kRequested,  ///< never said by a detector: somebody asked for a window
  };
  Kind kind = Kind::kSlow;
  int64_t now_ns = 0;
  int64_t unix_ns = 0;
  int64_t step = 0;  ///< the last that the job ended
  SlowFinding slow;
  BlockedFinding blocked;
  bool window = false;  ///< one should be taken now
  double window_s = 0;  ///< as long as this
  WindowDenial denied = WindowDenial::kNone;
  std::vector<DetectorReason> why;
};
std::string_view detector_event_name(DetectorEvent::Kind kind);

/// How far a rank is from the others.
struct RankSkew {
  int32_t rank = 0;
  double step_ms = 0;         ///< mean over about the last 50 steps
  double step_excess_ms = 0;  ///< over the median of all ranks; 0 in jobs that wait for each other
  double data_wait_ms = 0;    ///< mean time in the dataloader
  int64_t steps_behind = 0;
};

/// Watches one job: joins the records of its ranks, finds out when it becomes slow or blocked and when it is well
/// again, and says when a window should be taken. All times that are passed in are of one clock that never goes back.
class Detector {
 public:
  /// `job`: its id, for the policy's eligible jobs; `start_ns`: since when it runs.
  Detector(Policy policy, const std::string& job, int64_t start_ns);

  /// A record came in. Appends what follows from it.
  void observe(const StepRecord& record, int64_t now_ns, std::vector<DetectorEvent>& events);
  /// Time has passed; once a second will do.
  void tick(int64_t now_ns, std::vector<DetectorEvent>& events);
  /// The window that was granted last is so long in the end; 0: it is not taken.
  void window_is(double length_s) { budget_.correct_last(length_s); }
  /// Steps between these times, and in the policy's tail after them, are disturbed by us and no measure of the job.
  void mask(int64_t from_ns, int64_t to_ns);
  /// What a step is has changed: all that was learnt of them is forgotten, and the windows that were taken are not.
  void begin_again(int64_t now_ns);
  /// The rank ended, or left the job.
  void leave(int32_t rank) { series_.leave(rank); }

  [[nodiscard]] SlowDetector::Phase phase() const { return slow_.phase(); }
  [[nodiscard]] bool blocked() const { return blocked_.blocked(); }
  /// Median healthy step; 0 = not known yet.
  [[nodiscard]] double baseline_seconds() const { return slow_.baseline_seconds(); }
  /// Of the middle rank: mean step over about the last 50; 0 = not known yet.
  [[nodiscard]] double step_seconds() const;
  /// Every rank that takes part, in the order in which they came.
  [[nodiscard]] std::vector<RankSkew> skew() const;
  [[nodiscard]] const std::vector<RankState>& ranks() const { return series_.ranks(); }

 private:
  void take(const JobStep& step, std::vector<DetectorEvent>& events);
  void note_restart(std::vector<DetectorEvent>& events);
  void maybe_owed_window(std::vector<DetectorEvent>& events);
  void maybe_baseline(std::vector<DetectorEvent>& events);
  [[nodiscard]] bool masked(const JobStep& step) const;
  bool holds_evaluation(const JobStep& step);
  [[nodiscard]] DetectorEvent event(DetectorEvent::Kind kind) const;
  void ask_for_window(DetectorEvent& found, WindowBudget::Reason reason);
  void add_slow(const SlowFinding& finding, std::vector<DetectorEvent>& events);
  void add_blocked(std::vector<DetectorEvent>& events);

  Policy policy_;
  std::string job_;
  StepSeries series_;
  SlowDetector slow_;
  PublishedDetector published_;
  BlockedDetector blocked_;
  WindowBudget budget_;
  std::vector<JobStep> done_;
  int64_t now_ns_;
  int64_t unix_offset_ns_ = 0;  // wall clock less our clock
  int64_t step_ = 0;
  bool is_slow_ = false;
  uint32_t restarts_ = 0;
  uint32_t ranks_ = 0;         // that told of the last step
  uint32_t ranks_before_ = 0;  // a restart
  uint32_t steps_since_restart_ = 0;
  int64_t masked_from_ns_ = 0;
  int64_t masked_to_ns_ = 0;
  uint32_t usual_fetches_ = 0;
  int32_t fetch_votes_ = 0;
  bool owes_window_ = false;  // for the finding that was told last
  SlowFinding told_;
  uint32_t baselines_ = 0;
  int64_t baseline_ns_ = 0;
};

}  // namespace eroica
