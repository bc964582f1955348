#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "steps/anchor.h"
#include "steps/step.h"
#include "steps/usual_cycle.h"

namespace eroica {

/// Where a stretch of steps begins.
struct StretchStart {
  int64_t start_ns = 0;
  bool cut = true;         ///< the first step's beginning was not seen
  bool irregular = false;  ///< what stands before the first anchor is no whole step
};

struct CutterLimits {
  uint32_t min_repeats = 2;
  uint32_t give_up_events = 200;
};

/// Cuts a stream of marks into steps that tile its time, given what tells one step from the next.
///
/// A step begins where the one before ended: with an optimizer as the anchor, at the optimizer's end. Two things make
/// steps begin at a fetch instead:
/// - An evaluation phase (a run of fetches beyond the usual ones, or of a loader that seldom fetches) is split off as
///   an irregular step of its own, from the end of the previous step to the first of the fetches that belong to the
///   following step.
/// - Skipped optimizer steps: a cycle with a multiple of the usual fetches whose parts last about as long as a step
///   does is split at the first fetch of each part, and all parts are irregular.
/// Memory is bounded, whatever a step holds.
class StepCutter {
 public:
  /// `evidence`: marks from which to learn what a cycle usually holds (those that will be pushed, where they are known
  /// already).
  StepCutter(const Anchor& anchor, std::span<const Mark> evidence, const StretchStart& start,
             const CutterLimits& limits);

  /// Feeds one mark, in order of start; appends the steps that it completed. Their number is left 0.
  void push(const Mark& mark, std::vector<Step>& done);
  /// The step still open, as incomplete.
  void finish(int64_t end_ns, std::vector<Step>& done);

  /// Whether the anchor stayed away so long that another one should be looked for.
  [[nodiscard]] bool lost() const;
  [[nodiscard]] const Anchor& anchor() const { return anchor_; }
  [[nodiscard]] int64_t open_start_ns() const { return start_ns_; }
  [[nodiscard]] bool open_is_cut() const { return cut_; }
  /// How many of the marks that were pushed last belong to the open step.
  [[nodiscard]] uint64_t open_marks() const { return open_marks_; }

 private:
  struct Fetch {
    size_t loader;
    int64_t start_ns;
    int64_t end_ns;
  };
  struct Part {
    int64_t end_ns;
    bool irregular;
  };

  void close(int64_t end_ns, std::vector<Step>& done);
  [[nodiscard]] std::vector<Part> parts_by_optimizer(int64_t end_ns) const;
  [[nodiscard]] std::vector<Part> parts_by_fetch(int64_t end_ns) const;
  [[nodiscard]] std::vector<Part> skipped_steps(int64_t end_ns) const;
  [[nodiscard]] bool holds_evaluation() const;
  [[nodiscard]] size_t first_own_fetch() const;
  void emit(const std::vector<Part>& parts, std::vector<Step>& done) const;

  Anchor anchor_;
  CutterLimits limits_;
  UsualCycle usual_;
  bool anchored_ = false;  // the anchor has come at least once

  // The open step:
  int64_t start_ns_;
  bool cut_;
  bool irregular_;
  std::deque<Fetch> fetches_;   // the latest, by start
  uint32_t older_fetches_ = 0;  // fetches that are no longer kept one by one
  Cycle cycle_;
  uint32_t anchors_ = 0;  // of the row that ends the step
  int64_t optimizers_end_ns_;
  uint64_t open_marks_ = 0;
  uint32_t events_ = 0;       // since the last anchor; a run of one loader's fetches counts once
  bool after_fetch_ = false;  // the latest mark was a fetch, of this loader:
  size_t latest_loader_ = 0;
  int64_t latest_start_ns_;
};

}  // namespace eroica
