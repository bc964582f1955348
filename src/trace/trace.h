#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/pod_vector.h"
#include "base/string_table.h"

namespace eroica {

/// What a trace's "cat" (old and new schema) says an event is.
enum class Category : uint8_t {
  kOperator,       ///< cpu_op, Operator
  kPython,         ///< python_function, Python
  kAnnotation,     ///< user_annotation: also gloo:* and nccl:* and step marks
  kGpuAnnotation,  ///< gpu_user_annotation
  kRuntime,        ///< cuda_runtime, Runtime, hip, mtia_runtime, …: a call from the host
  kDriver,         ///< cuda_driver, privateuse1_driver
  kKernel,         ///< kernel, Kernel, and other accelerators' device work (mtia_ccp_events …)
  kMemcpy,         ///< gpu_memcpy, Memcpy
  kMemset,         ///< gpu_memset, Memset
  kSync,           ///< cuda_sync, cuda_event: a wait as the device driver saw it
  kOverhead,       ///< overhead of the profiler itself
  kTraceSpan,      ///< Trace: the profiler's own span
  kOther,
};
inline constexpr size_t kCategoryCount = static_cast<size_t>(Category::kOther) + 1;
[[nodiscard]] std::string_view category_name(Category category);

/// One timed execution. 40 bytes; the rest of what is known about it stands in the Trace's shared tables.
struct Event {
  int64_t start_ns;     ///< since Trace::base_unix_ns
  int64_t duration_ns;  ///< ≥ 0
  uint32_t name;        ///< in Trace::names
  uint32_t id;          ///< operators and annotations: External id; Python: Python id; runtime and device: correlation
  uint32_t link;        ///< operators: sequence number; Python: Python parent id; runtime and device: External id
  uint32_t detail;      ///< see Event::kinds of detail below; 0 = none
  Category category;
  uint8_t flags;
  uint16_t reserved;

  static constexpr uint32_t kNoId = 0xffffffff;  ///< in `id` and `link`: the event carried none
  static constexpr uint8_t kUnfinished = 1;      ///< args said "finished": false: cut by the end of the window
  static constexpr uint8_t kGraph = 2;           ///< a kernel launched as a node of a graph

  [[nodiscard]] int64_t end_ns() const { return start_ns + duration_ns; }
  // What `detail` indexes:
  //   operators, annotations   Trace::op_args      (shapes, call stack …)
  //   kernels                  Trace::launches     (grid, block, graph node)
  //   copies and sets          Trace::bytes
  //   collective kernels and record_param_comms: the event has an entry in Trace::collectives; for these
  //   operators and kernels detail indexes op_args / launches, whose `collective` points on.
};
static_assert(sizeof(Event) == 40);

/// The arguments of an operator or annotation, interned: equal ones are stored once.
struct OpArgs {
  uint32_t input_dims = 0;       ///< raw JSON text in Trace::names, such as [[985728]]
  uint32_t input_types = 0;      ///< raw JSON text
  uint32_t concrete_inputs = 0;  ///< raw JSON text; kept for c10d::* operators only (peer, tag)
  uint32_t call_stack = 0;       ///< old schema: "file(line): func;…", outermost first
  uint32_t collective = 0;       ///< index in Trace::collectives, 0 = none
  bool operator==(const OpArgs&) const = default;
};

/// How a kernel was launched, interned.
struct Launch {
  uint32_t grid = 0;  ///< raw JSON text such as [8, 1, 1]
  uint32_t block = 0;
  int64_t graph = 0;  ///< graph id, 0 = none
  int64_t graph_node = 0;
  uint32_t collective = 0;  ///< index in Trace::collectives, 0 = none
  bool operator==(const Launch&) const = default;
};

/// What a collective said about itself (record_param_comms or the kernel's own args), interned.
struct CollectiveArgs {
  uint32_t kind = 0;  ///< "allreduce", "_allgather_base" … as written
  uint32_t dtype = 0;
  uint32_t group_name = 0;
  uint32_t group_desc = 0;
  uint32_t group_ranks = 0;  ///< as written: "[0, 1]", perhaps cut with "..."
  int64_t in_elements = -1;  ///< −1 = not said
  int64_t out_elements = -1;
  int32_t group_size = -1;
  int32_t src_rank = -1;
  int32_t dst_rank = -1;
  int64_t sequence = -1;  ///< Kineto's "Seq"
  bool operator==(const CollectiveArgs&) const = default;
};

/// A host thread or a device stream with its events.
struct Track {
  std::string pid;  ///< as written, quotes removed
  std::string tid;
  bool device = false;  ///< its events ran on an accelerator
  int64_t stream = -1;  ///< device tracks: the stream, −1 = unknown
  std::string process_name;
  std::string thread_name;
  PodVector<Event> events;  ///< after Trace::sort(): by start, longest first
};

/// One counter ("ph":"C"): a level, or a rate since the series' previous sample.
struct Sample {
  int64_t time_ns;  ///< since SampleSet::base_unix_ns
  double value;
};
struct SampleSeries {
  std::string entity;  ///< "rank 2", "host node7/gpu 3"; Kineto's own: "GPU 0 Counters"
  std::string metric;
  std::string unit;             ///< the one key of args; empty in Kineto's own counters
  std::vector<Sample> samples;  ///< by time after read
};
struct SampleSet {
  int64_t base_unix_ns = 0;
  std::vector<SampleSeries> series;
};

/// Defects in the data are counted, not thrown. The names are public: they are the keys of import.defects.
enum class Defect : uint8_t {
  kTruncated,         ///< the file ends inside the document or inside the compressed stream
  kBadEvent,          ///< an element of traceEvents that could not be used even leniently
  kRepairedEvent,     ///< not valid JSON (quotes, control characters, nan …), read leniently all the same
  kBadField,          ///< a field of the wrong type or out of range; the event is used without it
  kMissingField,      ///< a timed event without ts or dur or name
  kNegativeDuration,  ///< taken as 0
  kHugeValue,         ///< a time or duration beyond what int64 ns or the sane range holds; clamped or dropped
  kUnmatchedBegin,    ///< B without E
  kUnmatchedEnd,      ///< E without B
  kDuplicateKey,      ///< a top-level key that stands twice
  kInvalidUtf8,
  kLongString,      ///< a name cut at the longest length kept
  kStringOverflow,  ///< names beyond the table's bound, kept as "(other)"
  kTrackOverflow,   ///< threads beyond the bound, kept on one track
  kIdOutOfRange,    ///< correlation or similar too far from the others to be kept
  kTrailingData,    ///< bytes after the end of the document
  kBadCompression,  ///< the compressed stream is damaged (checksum, bad block); what came before is used
};
inline constexpr size_t kDefectCount = static_cast<size_t>(Defect::kBadCompression) + 1;
[[nodiscard]] std::string_view defect_name(Defect defect);  ///< "truncated", "bad_event" …

struct Defects {
  std::array<uint64_t, kDefectCount> count{};
  void add(Defect defect, uint64_t n = 1) { count[static_cast<size_t>(defect)] += n; }
  [[nodiscard]] uint64_t of(Defect defect) const { return count[static_cast<size_t>(defect)]; }
  [[nodiscard]] bool any() const;
  void merge(const Defects& other);
};

/// A process group as distributedInfo or bundle.json lists it.
struct ProcessGroup {
  std::string name;
  std::string desc;
  std::vector<int32_t> ranks;  ///< empty: unknown or cut
  int32_t size = -1;
};

/// What the document says about itself.
struct TraceMetadata {
  int32_t rank = -1;  ///< distributedInfo.rank, −1 = not said
  int32_t world_size = -1;
  std::string backend;
  std::vector<ProcessGroup> groups;
  std::string host_name;
  std::vector<std::string> devices;  ///< deviceProperties[].name
  std::string trace_name;
};

/// One rank's raw trace. Made by read_kineto; times are exact integers.
struct Trace {
  int64_t base_unix_ns = 0;  ///< baseTimeNanoseconds; 0 for traces whose ts are absolute already
  StringTable names;
  std::vector<Track> tracks;
  std::vector<OpArgs> op_args{1};              ///< [0] = none
  std::vector<Launch> launches{1};             ///< [0] = none
  std::vector<CollectiveArgs> collectives{1};  ///< [0] = none
  std::vector<uint64_t> bytes{1};              ///< [0] = none; interned sizes of copies and sets
  SampleSet samples;                           ///< counters found in the trace itself (same base)
  TraceMetadata metadata;
  Defects defects;
  uint64_t timed_events = 0;  ///< X plus matched B/E
  uint64_t text_bytes = 0;    ///< decompressed size that was read
  std::array<uint64_t, kCategoryCount> category_count{};
  std::array<int64_t, kCategoryCount> category_ns{};  ///< plain sums of durations, saturating

  /// Orders every track's events by start, then longest first, then the outer kind of call, ids and name hash, so that
  /// any order of the same events in the file gives the same trace. Idempotent.
  void sort();
};

}  // namespace eroica
