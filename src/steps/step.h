#pragma once

#include <algorithm>
#include <cstdint>

namespace eroica {

enum class MarkKind : uint8_t {
  kStep,       ///< an explicit step: ProfilerStep#N, or the annotation named by --step-marker
  kOptimizer,  ///< Optimizer.step#NAME
  kFetch,      ///< enumerate(DataLoader)#… or a dataloader's __next__
};

/// One mark of the training loop, on the rank's own clock. Marks are pushed in order of their start.
struct Mark {
  MarkKind kind;
  uint64_t name_hash;  ///< of the optimizer's or the loader's name
  int64_t start_ns;
  int64_t end_ns;
  int64_t number = -1;  ///< kStep: the N, −1 = none
};

/// The times that the finder works with: any clock's nanoseconds, with sums and doubled differences inside int64.
inline constexpr int64_t kEarliestNs = -(int64_t{1} << 60);
inline constexpr int64_t kLatestNs = int64_t{1} << 61;

/// The mark with its times brought into that range, and its end not before its start.
inline Mark within_range(Mark mark) {
  mark.start_ns = std::clamp(mark.start_ns, kEarliestNs, kLatestNs);
  mark.end_ns = std::clamp(mark.end_ns, mark.start_ns, kLatestNs);
  return mark;
}

struct Step {
  int64_t number;  ///< as the marks number it, else counted from 0
  int64_t start_ns;
  int64_t end_ns;
  uint32_t fetches = 0;
  uint32_t optimizer_steps = 0;
  bool complete = true;    ///< false: cut by the window's edge
  bool irregular = false;  ///< an evaluation or a skipped optimizer step lies in it, or it is one: kept
                           ///< out of medians
};

}  // namespace eroica
