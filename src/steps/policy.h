#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace eroica {

/// How slow steps are told.
enum class DetectorMethod : uint8_t {
  kFull,    ///< slow_detector.h
  kEroica,  ///< published_detector.h: the rule published for EROICA, to compare with
};

struct SlowPolicy {
  bool enabled = true;
  uint32_t warm_up_steps = 10;              ///< the job's first, which are no measure of anything
  uint32_t learn_steps = 30;                ///< healthy steps to have seen before any is called slow
  uint32_t level_steps = 50;                ///< what a level is the median of
  double level_rise_percent = 5;            ///< a level this far above the best one is slow, however it came about
  double shift_percent = 2;                 ///< the least lasting change that is told
  double lost_time_percent = 4;             ///< so much time lost to single long steps is told
  double periodic_from_start_percent = 50;  ///< the same for stalls that came at a regular spacing from the start
  double least_lasting_s = 2;               ///< what is over sooner is not told
  double false_alarm_every_steps = 1e6;     ///< about so many healthy steps between two false alarms of one kind
  double worse_percent = 10;                ///< so much slower once more is told again
};

struct BlockedPolicy {
  bool enabled = true;
  double mean_multiple = 5;  ///< of the mean step
  double least_s = 10;
  double pause_multiple = 2;   ///< of the longest pause while healthy
  double most_s = 1800;        ///< at most, whatever pauses there were
  double first_step_s = 1800;  ///< until the first step has ended
};

/// How a window tells which Python functions ran.
enum class PythonStacks : uint8_t {
  kTrace,   ///< every call, by Kineto; costly where Python is hot
  kSample,  ///< stacks sampled from outside the process; off where that cannot be
  kOff,     ///< not at all
};

/// How a window tells how much GPUs were used.
enum class GpuCounters : uint8_t {
  kDriver,      ///< as the driver tells
  kDcgm,        ///< as a DCGM engine tells as well, in steps of 0.1 s
  kPmSampling,  ///< by the hardware's own sampling as well, in steps of 0.1 ms
};

/// Whether a window tells the shapes of operators' inputs, which about doubles what is to be written.
enum class InputShapes : uint8_t {
  kAuto,  ///< where there is no GPU: else kernels and collectives tell how much work there was
  kOn,
  kOff,
};

/// When a window may be taken.
struct WindowPolicy {
  PythonStacks stacks = PythonStacks::kTrace;
  GpuCounters gpus = GpuCounters::kDriver;
  InputShapes shapes = InputShapes::kAuto;
  double length_s = 10;
  double most_mb = 500;            ///< that a rank's trace may have, as far as earlier windows tell
  double tail_s = 5;               ///< steps so long after a window's end are still disturbed by it
  double cooldown_s = 300;         ///< between two windows; one for a job that got worse or blocked may come sooner
  double budget_s_per_hour = 120;  ///< profiled seconds
  double slows_percent = 30;       ///< how much longer steps are thought to be inside, for replay's account
};

/// Windows of the healthy job, to compare later ones with.
struct BaselinePolicy {
  uint32_t count = 1;
  uint32_t after_steps = 200;
  double spacing_s = 3600;
};

/// Minutes of the day, UTC; a range whose end is not after its start goes on past midnight.
struct HourRange {
  int32_t from_minute = 0;
  int32_t to_minute = 24 * 60;
  bool operator==(const HourRange&) const = default;
};

/// What is kept of a job's windows, where they are kept; the oldest go first.
struct KeepPolicy {
  double most_gb = 20;
  uint32_t most_windows = 50;
  double most_days = 7;
  double leave_free_gb = 5;  ///< on their file system
};

struct EligiblePolicy {
  std::vector<std::string> jobs = {"*"};  ///< shell patterns of job ids: * and ?
  std::vector<HourRange> hours_utc = {{}};
};

/// When the detector speaks, and when a window is taken.
struct Policy {
  DetectorMethod method = DetectorMethod::kFull;
  EligiblePolicy eligible;
  SlowPolicy slow;
  BlockedPolicy blocked;
  WindowPolicy window;
  BaselinePolicy baseline;
  KeepPolicy keep;
};

/// Whether one of the patterns is that of the job.
bool is_eligible(const EligiblePolicy& policy, const std::string& job);
/// Whether windows may be taken at this time.
bool is_eligible_at(const EligiblePolicy& policy, int64_t unix_ns);

}  // namespace eroica
