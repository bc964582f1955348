#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/quantile_sketch.h"
#include "steps/step_finder.h"
#include "trace/trace.h"

namespace eroica {

/// What a function is, by what its executions do for the job.
enum class FunctionKind : uint8_t {
  kCompute,     ///< GPU kernels; on CPU jobs, operators
  kMemory,      ///< copies and sets on a device
  kCollective,  ///< NCCL, RCCL or gloo operation
  kPython,      ///< Python function with its call path
  kFetch,       ///< a dataloader's fetch as the training loop waits for it
  kOperator,    ///< on GPU jobs: framework work on the host that launches kernels
  kRuntime,     ///< CUDA/HIP call on the host
  kSync,        ///< host call that waits for the device (cudaStreamSynchronize, .item() …)
};
inline constexpr size_t kFunctionKindCount = static_cast<size_t>(FunctionKind::kSync) + 1;
[[nodiscard]] std::string_view function_kind_name(FunctionKind kind);  ///< "compute", "memory", "collective" …

/// Where a rank's time goes: every instant of the window (or of a step) belongs to exactly one class.
enum class TimeClass : uint8_t {
  kCompute,        ///< GPU compute; on CPU jobs operators outside the dataloader
  kMemory,         ///< memory operations not hidden by compute
  kCommunication,  ///< collectives not hidden by compute or memory operations
  kDataloader,     ///< nothing of the above; the training thread is inside a dataloader fetch
  kPython,         ///< … in Python code
  kLaunch,         ///< … in framework operators or launching calls: the device waits for the host
  kSync,           ///< … waiting for a device that runs nothing
  kIdle,           ///< nothing known
};
inline constexpr size_t kTimeClassCount = static_cast<size_t>(TimeClass::kIdle) + 1;
[[nodiscard]] std::string_view time_class_name(TimeClass time_class);  ///< "compute" … "idle"

using Budget = std::array<int64_t, kTimeClassCount>;  ///< ns per class

/// The words of a function, kept once a job; patterns refer to them by hash.
struct FunctionName {
  std::string text;  ///< canonical and short, for people
  std::string full;  ///< whole canonical text where `text` was shortened, else empty
  std::string file;  ///< Python: path relative to its package or project; else empty
  FunctionKind kind = FunctionKind::kPython;
  std::vector<std::string> path;  ///< Python: callers as "file: function", outermost first, itself excluded
  bool operator==(const FunctionName&) const = default;
};
/// Ordered, so that everything that walks it is deterministic.
using NameTable = std::map<uint64_t, FunctionName>;

/// Use of one hardware signal over a function's critical executions, weighted by time.
struct HardwareUse {
  std::string metric;  ///< "cpu.run", "gpu.sm_active" …
  std::string entity;  ///< "rank 2", "host node7/gpu 3"
  std::string unit;
  double mean = 0;         ///< µ
  double deviation = 0;    ///< σ
  int64_t covered_ns = 0;  ///< time of critical executions that had samples
  bool operator==(const HardwareUse&) const = default;
};

/// One hardware signal of an entity that tells about the rank, over the whole window, weighted by time.
struct SignalUse {
  std::string metric;
  std::string entity;
  std::string unit;
  double mean = 0;
  double deviation = 0;
  double minimum = 0;
  double maximum = 0;
  int64_t covered_ns = 0;  ///< time of the window that had samples
  bool operator==(const SignalUse&) const = default;
};

/// Line of user code that made a function run.
struct Issuer {
  uint64_t name = 0;  ///< Python function in the NameTable, 0 = unknown
  int32_t line = 0;   ///< of the function's definition as the trace gives it
  int64_t ns = 0;     ///< total time of executions that it issued
  bool operator==(const Issuer&) const = default;
};

inline constexpr uint32_t kMostShapes = 64;
/// Of the window: functions whose exposed and self times are below it tell nothing between ranks.
inline constexpr double kLeastTellingShare = 0.0002;
/// So many compute functions of a rank tell of its hardware what there is to tell.
inline constexpr size_t kFunctionsWithHardware = 8;

/// One function on one rank in one window.
struct FunctionPattern {
  uint64_t name = 0;  ///< in the NameTable
  FunctionKind kind = FunctionKind::kPython;
  int32_t line = 0;  ///< Python: line of the definition, beside the identity
  uint64_t executions = 0;
  int64_t total_ns = 0;    ///< device work and collectives: union of the executions (they may overlap); host: sum
                           ///< without recursive re-entry
  int64_t self_ns = 0;     ///< host functions: total less children; else = total_ns
  int64_t exposed_ns = 0;  ///< part of the window that it explains (β × window)
  int64_t longest_ns = 0;
  int64_t bytes = 0;                      ///< copies and collectives: bytes moved by all executions, where known
  QuantileSketch durations;               ///< of single executions, ns
  std::vector<Issuer> issuers;            ///< at most 3, by ns
  std::vector<HardwareUse> hardware;      ///< sorted by metric, entity
  std::vector<uint32_t> step_exposed_us;  ///< per step of RankPattern::steps, quantised; only for those that matter
  uint32_t shape = 0;                     ///< fingerprint of launch shapes / input shapes over executions, order-free
  uint32_t shapes = 0;                    ///< how many distinct shapes, at most kMostShapes; 0 = none were told
  double work = 0;  ///< sum over executions: elements of all inputs (operators), threads launched (kernels)
  uint64_t beside_executions = 0;  ///< GPU kernels: executions of which half or more ran while a collective did
  int64_t beside_ns = 0;           ///< … and their summed durations
  bool operator==(const FunctionPattern&) const = default;
};

struct StepPattern {
  int64_t number = 0;
  int64_t start_ns = 0;  ///< since the window's start
  int64_t duration_ns = 0;
  bool complete = true;
  bool irregular = false;
  Budget budget{};
  int64_t fetch_ns = 0;  ///< wall time of the training thread inside dataloader fetches, hidden by the device or not
  double work = 0;  ///< FunctionPattern::work of the compute that the step launched, or that began in it where launches
                    ///< are not known
  int64_t launched_ns = 0;  ///< summed durations of the device compute that the step launched, whenever it ran; 0 =
                            ///< none, not known, or not all of it ran in the window
  bool operator==(const StepPattern&) const = default;
};

/// A process group as this rank knows it.
struct GroupPattern {
  std::string name;
  std::string desc;
  std::vector<int32_t> ranks;
  int32_t size = -1;
  bool operator==(const GroupPattern&) const = default;
};

/// Sums over all instances of one kind of collective in one group.
struct CollectiveSummary {
  std::string kind;  ///< "all_reduce", "all_gather", "reduce_scatter", "broadcast", "send", "recv" …
  std::string dtype;
  uint32_t group = 0;  ///< index in RankPattern::groups
  uint64_t count = 0;
  int64_t bytes = 0;     ///< sum of payload bytes (larger of in and out), where known
  int64_t total_ns = 0;  ///< union
  int64_t exposed_ns = 0;
  QuantileSketch durations;
  std::vector<uint32_t> step_total_us;  ///< union per step: covers all instances
  bool operator==(const CollectiveSummary&) const = default;
};

/// One collective, for joining with the other ranks.
struct CollectiveInstance {
  uint32_t summary = 0;   ///< index in RankPattern::collectives
  int64_t sequence = -1;  ///< the group's sequence number, −1 = not recorded
  uint32_t position = 0;  ///< k-th instance of its group and thread in the window
  int64_t start_ns = 0;   ///< since the window's start, own clock
  int64_t duration_ns = 0;
  int64_t bytes = 0;
  int32_t peer = -1;  ///< send and recv
  bool operator==(const CollectiveInstance&) const = default;
};

/// The first collective of a group that the rank had called for and that had not ended when the window did.
struct OpenCollective {
  std::string kind;
  uint32_t group = 0;      ///< index in RankPattern::groups
  int64_t sequence = -1;   ///< the group's sequence number, −1 = not recorded
  int64_t since_ns = 0;    ///< since the window's start: when it began; else when it was called and the device free
  int64_t bytes = 0;       ///< 0 = not recorded
  int64_t longest_ns = 0;  ///< the longest of the group that ended in the window
  bool begun = false;      ///< it was seen running
  bool unusual = false;    ///< the group had other collectives in the window, but none of this kind and size
  bool operator==(const OpenCollective&) const = default;
};

/// How the rank's window ended. What follows quiet_ns is told only where that is not 0.
struct WindowEnd {
  int64_t observed_ns = 0;    ///< until when the rank was observed, since the window's start
  int64_t last_event_ns = 0;  ///< the end of the last event
  int64_t quiet_ns = 0;       ///< for how long the device, or the host of a CPU job, had begun nothing; 0 = not long
  std::vector<OpenCollective> open;  ///< by call
  uint64_t frame = 0;  ///< the innermost Python function of the main thread at the end, in the NameTable; 0 = unknown
  int32_t line = 0;    ///< … the line of its definition
  uint64_t user_frame = 0;  ///< … the innermost one of the user's code
  int32_t user_line = 0;
  double cpu_run = -1;      ///< cores that the process used in that time, −1 = not sampled
  int64_t sampled_ns = -1;  ///< the last sample of the process's cores, −1 = none at all
  bool operator==(const WindowEnd&) const = default;
};

/// What a rank's import went through, carried along so that a diagnosis from patterns tells it too.
struct ImportInfo {
  uint64_t events = 0;  ///< timed: X plus matched B/E
  uint64_t bytes = 0;   ///< decompressed text
  Defects defects;
  std::vector<std::string> notes;  ///< in words
};

/// All that is kept of one rank's window.
struct RankPattern {
  int32_t rank = -1;
  std::string host;
  int32_t gpu = -1;
  int32_t world_size = -1;
  std::string job_id;
  std::map<std::string, std::string> labels;
  std::string device;                ///< accelerator model, empty on CPU jobs
  bool gpu_job = false;              ///< device work was seen
  int64_t window_start_unix_ns = 0;  ///< own clock
  int64_t window_ns = 0;
  StepSource step_source = StepSource::kWindow;
  bool steps_numbered = false;  ///< the steps' numbers are the job's own, so that equal ones are one step on all ranks
  std::string step_note;
  std::vector<StepPattern> steps;
  Budget budget{};                                         ///< of the whole window
  std::vector<FunctionPattern> functions;                  ///< by exposed time, then total, then name
  std::array<FunctionPattern, kFunctionKindCount> rest{};  ///< what was left out of `functions`, summed by kind
  std::vector<SignalUse> signals;                          ///< sorted by metric, entity
  std::vector<GroupPattern> groups;
  std::vector<CollectiveSummary> collectives;
  std::vector<CollectiveInstance> instances;  ///< complete, or a sample: see instance_sampling
  uint32_t instance_sampling = 0;  ///< k: kept when the lowest k bits of the instance's hash are zero; 0 = all kept
  uint64_t instances_seen = 0;
  WindowEnd end;
  std::array<int64_t, kCategoryCount> category_ns{};  ///< plain sums over the trace (unclipped), for checks
  std::array<uint64_t, kCategoryCount> category_count{};
  ImportInfo import;
};

/// False: the rank wrote no trace, and its samples are all that is known of it.
inline bool is_observed(const RankPattern& pattern) {
  return pattern.import.bytes > 0 || pattern.import.events > 0 || !pattern.functions.empty() ||
         !pattern.steps.empty() || !pattern.collectives.empty() || pattern.end.last_event_ns > 0;
}

}  // namespace eroica
