#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pattern/pattern.h"
#include "trace/trace.h"

namespace eroica {

/// One execution on the rank's clock, since the window's start.
struct Interval {
  int64_t start_ns;
  int64_t end_ns;
};

/// The series that tell about a rank, in the order of `samples`: its own ("rank 2", "rank 2/worker 0",
/// "rank 2/thread NAME"), its host's and its machine's with their NICs, disks and CPUs, and of its host's GPUs its
/// own. An empty host or machine and a negative gpu match nothing. Kineto's own "GPU N Counters" name no rank and
/// count as this rank's: `samples` should hold them from its own trace only. Of several, the one named by `gpu` is
/// taken; a single one is taken whatever its number (a process may see its GPUs renumbered).
std::vector<const SampleSeries*> relevant_series(const SampleSet& samples, int32_t rank, const std::string& host,
                                                 const std::string& machine, int32_t gpu);

/// µ and σ of a series over a function's critical executions, weighing every sample by the time that it stands for:
/// a rate covers the interval since the previous sample, a level the time until the next one (the last: as long as
/// the one before it; the only one: for ever). Values that are not finite stand for nothing.
///
/// The critical part of an execution runs from sample to sample: the shortest stretch of them that holds at least
/// 80 % of the execution's total use and no run of zero samples longer than `longest_zero_run`, the earliest where
/// several are equally short; where there is none, all of the execution (after EROICA, NSDI '26). Time that the
/// critical parts of several executions share counts once.
///
/// `executions` may overlap and come in any order. The longest kMaxCriticalExecutions are looked at, and of these,
/// longest first, only so many that the cost stays linear in executions and samples however they overlap.
/// `series_origin_ns` is what must be added to a sample's time_ns to be on the executions' axis. The series' samples
/// are ordered by time. Without any sample in an execution, covered_ns is 0.
HardwareUse hardware_use(const SampleSeries& series, int64_t series_origin_ns, std::span<const Interval> executions,
                         uint32_t longest_zero_run = 5);

/// What a series says over the window [0, window_ns), weighing samples as hardware_use does. Without any sample in it,
/// covered_ns is 0.
SignalUse signal_use(const SampleSeries& series, int64_t series_origin_ns, int64_t window_ns);

inline constexpr size_t kMaxCriticalExecutions = 4096;

}  // namespace eroica
