#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/diagnosis.h"
#include "pattern/pattern.h"

namespace eroica {

/// A value for each class of time.
using PerClass = std::array<double, kTimeClassCount>;

/// "Per step" means the mean over a rank's complete regular steps; where it has none, over all its steps; where no
/// steps were found, the figures are those of the whole window (`per_window`).

struct StepRow {
  int64_t number = 0;
  double start_ms = 0;  ///< since the window's start, own clock
  double duration_ms = 0;
  bool complete = true;
  bool irregular = false;
  double fetch_ms = 0;
  PerClass ms{};  ///< for the text report; the JSON keeps it per rank only
};

struct RankSteps {
  int32_t rank = -1;
  std::vector<StepRow> steps;
};

/// Over the counted steps of all ranks. Where hosts run ahead of their devices only the mean is known, and stands for
/// the others.
struct StepTimes {
  double mean_ms = 0;  ///< what losses are a part of
  double median_ms = 0;
  double p95_ms = 0;
  double slowest_ms = 0;
  int64_t slowest_step = 0;
  int32_t slowest_rank = -1;  ///< −1: not known
};

struct StepsSection {
  std::string source;  ///< "marker", "profiler_step", "sequence", "window"; "mixed" where ranks differ
  std::string note;
  uint64_t count = 0;              ///< most steps that a rank has, incomplete ones included; 0 where none were found
  uint64_t complete = 0;           ///< most complete regular steps that a rank has
  std::optional<StepTimes> times;  ///< absent: no rank has steps
  std::vector<RankSteps> ranks;
};

struct ClassSpread {
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  int32_t max_rank = -1;
  double share = 0;  ///< mean over ranks
};

struct RankStepTimes {
  double median_ms = 0;
  double p95_ms = 0;
  double slowest_ms = 0;
};

struct RankTime {
  int32_t rank = -1;
  std::string host;
  std::string device;
  bool per_window = false;
  uint64_t steps = 0;  ///< that were counted
  double window_ms = 0;
  std::optional<RankStepTimes> step_ms;  ///< absent when per_window
  PerClass ms{};                         ///< per step
  PerClass share{};
  double fetch_median_ms = 0;
  double fetch_max_ms = 0;
};

struct TimeSection {
  std::array<ClassSpread, kTimeClassCount> over_ranks{};
  std::vector<RankTime> ranks;
};

/// Over all selected ranks; one that never ran the function counts as 0.
struct Spread {
  double median = 0;
  double max = 0;
  int32_t max_rank = -1;
};

struct DurationQuantiles {
  double p50_us = 0;
  double p99_us = 0;
  double max_us = 0;
};

struct IssuerRow {
  std::string name;
  std::string file;
  int32_t line = 0;
  double total_ms_per_step = 0;  ///< mean over ranks
};

struct FunctionOnRank {
  int32_t rank = -1;
  double exposed_ms = 0;  ///< this and the next two: per step
  double total_ms = 0;
  double self_ms = 0;
  uint64_t executions = 0;  ///< in the window
  double p50_us = 0;
  double p99_us = 0;
  std::vector<double> step_exposed_ms;  ///< along RankSteps::steps; only where detail was asked for
};

struct HardwareRow {
  int32_t rank = -1;
  std::string entity;
  std::string metric;
  std::string unit;
  double mean = 0;
  double deviation = 0;
};

struct FunctionRow {
  uint64_t id = 0;
  std::string name;
  std::string full;  ///< empty where `name` is whole
  FunctionKind kind = FunctionKind::kPython;
  std::string file;
  int32_t line = 0;
  std::vector<std::string> path;
  std::vector<IssuerRow> issuers;  ///< by time; the JSON keeps the first unless detail was asked for
  double executions_per_step = 0;  ///< median over the ranks that ran it
  Spread exposed_ms;               ///< these three: per step
  Spread total_ms;
  Spread self_ms;
  double share = 0;  ///< of a step, mean over ranks
  DurationQuantiles duration;
  std::vector<FunctionOnRank> ranks;
  std::vector<HardwareRow> hardware;
};

struct CollectiveOnRank {
  int32_t rank = -1;
  uint64_t count = 0;  ///< in the window
  int64_t bytes = 0;   ///< in the window
  double total_ms_per_step = 0;
  double p50_us = 0;
  /// These two where its instances were joined with those of the other members.
  std::optional<double> late_ms_per_step;  ///< it came so much later than the others' median
  std::optional<double> wait_ms_per_step;  ///< until the last one came
};

/// What joining the instances of a row's collectives over their members told; by kNothing: they were not joined.
struct CollectiveJoin {
  AlignedBy by = AlignedBy::kNothing;
  bool whole = true;     ///< all members were joined
  size_t instances = 0;  ///< that were joined, of …
  size_t of = 0;
  double transfer_ms_per_step = 0;  ///< while all members were there
  double error_us = 0;              ///< of an instance's end
  std::string why;
};

struct CollectiveRow {
  std::string kind;
  std::string group;
  std::string group_desc;
  int32_t group_size = -1;
  std::string dtype;
  double count_per_step = 0;  ///< these and the next: mean over the ranks that took part
  double bytes_per_step = 0;
  DurationQuantiles duration;
  double exposed_ms_per_step = 0;
  /// Payload bytes over the duration of the fast instances (algorithm bandwidth, not bus bandwidth): instances at
  /// the 90th percentile of the rate, so that waiting for late ranks counts little. Absent: bytes are not known.
  std::optional<double> gigabytes_per_s;
  CollectiveJoin joined;
  std::vector<CollectiveOnRank> ranks;
};

struct Profile {
  StepsSection steps;
  TimeSection time;
  std::vector<FunctionRow> functions;
  uint64_t functions_left_out = 0;  ///< known, but beyond the limit that was asked for
  bool function_detail = false;     ///< a function was asked for by name
  bool rank_detail = false;         ///< ranks were asked for by number
  std::vector<CollectiveRow> collectives;
  std::vector<std::string> notes;
};

struct ImportSection {
  uint64_t events = 0;
  uint64_t bytes = 0;
  Defects defects;
  std::array<uint64_t, kCategoryCount> category_count{};
  std::array<int64_t, kCategoryCount> category_ns{};  ///< plain sums of durations over all ranks
};

/// Adds what one rank's import went through.
void add_import(const RankPattern& pattern, ImportSection& sum);
void add_import(const ImportSection& more, ImportSection& sum);

struct Coverage {
  int32_t ranks_expected = -1;  ///< −1: unknown
  uint64_t ranks_seen = 0;
  uint64_t hosts_seen = 0;
  std::vector<std::string> signals_missing;  ///< basic ones that some rank had no samples of, and what rules lacked
};

struct WindowSection {
  int64_t start_unix_ns = 0;
  double duration_ms = 0;
};

/// What the window's observation was worth; docs/diagnosis.schema.json tells what each figure means.
struct BudgetSection {
  std::optional<double> coverage;         ///< ranks seen over ranks expected
  std::string resolution;                 ///< "function and component", "function", "host"; empty without a claim
  std::optional<double> interference_ms;  ///< training time that the window cost; absent: recorded beforehand
  std::optional<double> yield;            ///< share of the claims that name a cause
  // What watching the job costs it all the time; absent: nobody watched it, or not known.
  std::optional<double> probe_us_per_step;  ///< mean, on a rank
  std::optional<double> probe_percent;      ///< … of its step
  std::optional<double> watcher_percent;    ///< of one core of each host
};

/// When a live job's trouble began, and when it was known. 0: not known.
struct TimingSection {
  int64_t onset_unix_ns = 0;
  int64_t detected_unix_ns = 0;
  int64_t diagnosed_unix_ns = 0;
};

/// What only an operation timeline tells; compare/timeline_what_if.h says how.
struct TimelineSection {
  std::string verdict;  ///< verdict_name()
  uint64_t workers = 0;
  uint64_t dp = 0;
  uint64_t stages = 0;
  double slowdown_even = 1;                 ///< S
  double explained_by_slowest_workers = 0;  ///< M_W
  double explained_by_last_stage = 0;       ///< M_S
  double mean_step_ms = 0;                  ///< as measured
  double simulated_step_ms = 0;             ///< as the step graph has it: what S refers to
  double ideal_step_ms = 0;                 ///< every operation alike over stages, ranks and steps
};

/// What is known about one window of a job: everything that any report shows. A plain value; the writers (text.h,
/// json.h, html.h) only lay it out.
struct Document {
  std::string job_id;
  int32_t world_size = -1;
  bool healthy = true;  ///< no claims
  WindowSection window;
  Coverage coverage;
  ImportSection import;
  Profile profile;
  BudgetSection budget;
  Conclusion conclusion;
  std::optional<TimelineSection> timeline;  ///< absent: it was made from traces
  std::optional<TimingSection> timing;      ///< absent: nobody watched the job
};

/// What is told of a job of which only a sample of the patterns is at hand.
struct WholeJob {
  std::vector<int32_t> ranks;  ///< that were read, ascending
  uint64_t hosts = 0;
  ImportSection import;
};

struct DocumentOptions {
  std::vector<int32_t> ranks{};         ///< only these; empty = all
  std::string function{};               ///< only functions whose name or file holds this, or with this id; empty = all
  std::vector<int32_t> ranks_listed{};  ///< by bundle.json, whether there is something to read of them or not
  size_t top = 100;                     ///< most functions to list
  std::vector<std::string> notes{};     ///< what the run has to say: inputs that were passed over …
  std::optional<WholeJob> whole{};      ///< the patterns are a sample of this job; absent: they are all
};

/// Puts the patterns of all ranks, and what was concluded from them, into one document. Ranks must differ; their order
/// does not matter. The conclusion is of the whole job, whichever ranks or functions were asked for. Errors: kInvalid
/// when a rank or function that was asked for does not exist (the message says what does), or when nothing was given.
Result<Document> build_document(std::span<const RankPattern> patterns, const NameTable& names,
                                const DocumentOptions& options, Conclusion conclusion = {});

[[nodiscard]] std::string_view step_source_name(StepSource source);

}  // namespace eroica
