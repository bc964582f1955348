#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "steps/anchor.h"
#include "steps/step.h"
#include "steps/step_cutter.h"

namespace eroica {

enum class StepSource : uint8_t {
  kMarker,        ///< --step-marker
  kProfilerStep,  ///< ProfilerStep#N
  kSequence,      ///< the repeating sequence of optimizer steps and fetches
  kWindow,        ///< nothing repeats: the whole window is one step
};

struct Steps {
  StepSource source = StepSource::kWindow;
  std::vector<Step> steps;  ///< in order, without overlap
  std::string note;         ///< for people: how they were found, what was odd
};

struct SequenceOptions {
  uint32_t min_repeats = 2;       ///< like repetitions before a step is believed (live: 10)
  uint32_t give_up_events = 200;  ///< marks without a match before the search begins again; a run of one loader's
                                  ///< fetches counts as one
  bool lookahead = false;  ///< keep all marks and decide at finish(), knowing what follows: one whole step is enough
};

/// Finds the repeating sequence in a stream of optimizer and fetch marks: the step ends where its anchor, the rarest
/// recurring optimizer, ends (jobs without one: at the next fetch of the loader that fetches most). Tolerates gradient
/// accumulation, several fetches and optimizers a step, skipped optimizer steps, evaluation phases and a first
/// incomplete step. StepCutter says where steps begin and end; they tile the time from the first mark on.
/// When the anchor stays away, or a rarer optimizer turns up, the search begins again; the stretch between is one
/// irregular step.
/// Incremental: the same object serves live; memory is bounded (the last marks), except with `lookahead`.
/// Marks may overlap, come late or be absurd: times are clamped, nothing throws.
/// Algorithm after EROICA (NSDI '26), section on step detection, extended by the anchor and by edits.
class SequenceFinder {
 public:
  explicit SequenceFinder(SequenceOptions options = {});
  /// Feeds one mark; marks come in order of start. Returns the steps that it completed (the first time that a step is
  /// recognised, also those before it). kStep marks are passed over.
  std::vector<Step> push(const Mark& mark);
  /// Ends the stream: the steps still open, the last one incomplete. Where nothing repeats, no steps at all. Nothing
  /// may be pushed afterwards.
  std::vector<Step> finish(int64_t window_end_ns);
  [[nodiscard]] bool locked() const { return cutter_.has_value(); }  ///< a step has been recognised
  /// What tells the steps apart at present.
  [[nodiscard]] std::optional<Anchor> anchor() const;
  /// How often the pattern changed so much that another anchor was taken.
  [[nodiscard]] uint32_t changes() const { return changes_; }

 private:
  void advance(bool all_known, std::vector<Step>& done);
  bool lock(bool all_known);
  void give_up();
  void note_other();
  void forget_others();
  void review(std::span<const Mark> marks);
  void take_anchor(const Anchor& anchor, std::span<const Mark> evidence, const StretchStart& start);
  void reopen();
  void trim();
  void number(std::vector<Step>& done);

  SequenceOptions options_;
  std::vector<Mark> history_;  // the latest marks
  size_t unsearched_ = 0;      // in history_: where the search for an anchor begins
  size_t next_ = 0;            // in history_: the next mark for the cutter
  size_t try_at_ = 0;          // marks to have before the next search
  std::optional<StepCutter> cutter_;
  std::optional<StretchStart> stretch_;  // of the time since the last step; none before the first mark
  // Optimizers other than the anchor, since they first came or were last forgotten:
  uint32_t others_ = 0;
  uint32_t review_at_ = 0;  // how many make a review
  size_t others_from_ = 0;  // in history_: the first of them
  uint32_t changes_ = 0;
  int64_t next_number_ = 0;
  std::optional<uint64_t> last_name_;  // of the latest anchor
};

/// Names of marks for people: hash and text, sorted by hash.
using MarkNames = std::vector<std::pair<uint64_t, std::string>>;

struct StepOptions {
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;
  SequenceOptions sequence = {};
  const MarkNames* names = nullptr;  ///< for the note; may be absent
};

/// Offline: the steps of a window from all its marks, in this order of preference: kStep marks (as kMarker when
/// `from_marker`, else kProfilerStep), the repeating sequence, the whole window. Steps are clipped to the window; one
/// that loses more than a fiftieth there is not complete. kStep marks may leave gaps, and one is enough; a sequence
/// tiles the window and needs one whole step. Marks may stand in any order. An empty window has no steps.
Steps find_steps(std::span<const Mark> marks, bool from_marker, const StepOptions& options);

}  // namespace eroica
