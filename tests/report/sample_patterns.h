#pragma once

#include <vector>

#include "pattern/pattern.h"

namespace eroica::testing {

/// A job made by hand: its patterns and words.
struct SampleJob {
  std::vector<RankPattern> patterns;
  NameTable names;
};

/// Four CPU ranks on four hosts over gloo, 14 complete steps of about 75 ms and two that the window cuts; rank 2 spends
/// 20 ms more in its dataloader, which the others spend waiting in the all-reduce.
SampleJob cpu_job();

/// `ranks` GPU ranks, eight a host; rank 11 launches slowly.
SampleJob gpu_job(int ranks);

/// One rank in which no steps were found, with a damaged trace and hostile names.
SampleJob odd_job();

inline constexpr uint64_t kAllReduce = 0x1111;
inline constexpr uint64_t kMatrixProduct = 0x2222;
inline constexpr uint64_t kAugment = 0x3333;
inline constexpr uint64_t kBackward = 0x4444;

}  // namespace eroica::testing
