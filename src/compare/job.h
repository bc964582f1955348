#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pattern/entity.h"
#include "pattern/pattern.h"

namespace eroica {

/// What a function's time depends on, by its name.
enum class Workload : uint8_t {
  kNone,         ///< no compute
  kMatrix,       ///< matrix multiplications, convolutions, attention: bound by arithmetic
  kMemoryBound,  ///< all other compute
};

/// A function of the job, whatever rank runs it.
struct JobFunction {
  uint64_t hash = 0;
  FunctionKind kind = FunctionKind::kPython;
  Workload workload = Workload::kNone;
  bool user_code = false;  ///< Python written by the user (not torch, not the standard library)
  bool waits = false;      ///< Python whose time is a wait for others: backward engine, synchronisation, queues
  bool simt = false;       ///< matrix kernel without tensor cores
  bool scalar = false;     ///< operator that looks at single elements of tensors
};

/// One function on one rank. Times are shares of the rank's window, so that windows of different length compare.
struct FunctionUse {
  uint32_t function = 0;  ///< in Job::functions
  int32_t line = 0;
  float exposed = 0;
  float self = 0;
  float total = 0;
  float calls = 0;  ///< a step
  float mean_us = 0;
  float p50_us = 0;
  float p99_us = 0;
  float longest_us = 0;
  uint32_t shape = 0;
  uint32_t shapes = 0;
  float work_per_call = 0;
  float beside_us = 0;  ///< mean duration beside collectives; 0 = never beside
  float alone_us = 0;   ///< mean duration away from them; 0 = never alone
  float bytes = 0;      ///< a step
  uint32_t issuer = 0;  ///< index in Job::functions + 1 of the user function that issued most of it, 0 = unknown
  int32_t issuer_line = 0;
};

/// A hardware signal over a function's critical executions.
struct HardwareFact {
  uint32_t function = 0;  ///< in Job::functions
  uint32_t metric = 0;    ///< in Job::metrics
  uint32_t entity = 0;    ///< in Job::entities
  float mean = 0;
  float deviation = 0;
};

/// One kind of collective in one group as one rank saw it.
struct CollectiveUse {
  uint32_t group = 0;    ///< in Job::groups
  uint32_t kind = 0;     ///< in Job::words
  uint32_t summary = 0;  ///< in RankPattern::collectives
  float count = 0;       ///< a step
  float bytes = 0;       ///< of one instance, mean; 0 = unknown
  float total = 0;       ///< share of the window
  float exposed = 0;     ///< share of the window
  float p50_us = 0;
  float p99_us = 0;
};

/// A step as one rank saw it.
struct StepFacts {
  int64_t number = 0;
  float duration_ms = 0;
  float own_ms = 0;       ///< outside of exposed communication
  float launched_ms = 0;  ///< device compute that the step launched; 0 = not known
  float work = 0;
  bool regular = true;  ///< complete and regular
};

struct JobGroup {
  std::string name;
  std::string desc;
  std::vector<int32_t> ranks;  ///< ascending; empty: unknown
  int32_t size = -1;
};

struct Entity {
  std::string text;
  EntityKind kind = EntityKind::kOther;
  std::vector<uint32_t> ranks;  ///< indices in Job::ranks that it tells about, ascending
};

/// One signal of one entity over the window.
struct SignalValue {
  uint32_t entity = 0;
  float mean = 0;
  float deviation = 0;
  float minimum = 0;
  float maximum = 0;
};
struct Signal {
  std::string metric;
  std::string unit;
  std::vector<SignalValue> values;  ///< by entity, each once
};

/// The first collective of a group that had not ended when the window did (OpenCollective).
struct OpenUse {
  uint32_t group = 0;  ///< in Job::groups
  uint32_t kind = 0;   ///< in Job::words
  int64_t sequence = -1;
  int64_t bytes = 0;
  float waited_ms = 0;
  float longest_ms = 0;  ///< of those of the group that ended
  bool begun = false;
  bool unusual = false;  ///< the group had others on this rank, but none of this kind and size
};

/// How a rank's window ended, where nothing had begun for long (WindowEnd).
struct RankEnd {
  uint32_t rank = 0;  ///< in Job::ranks
  float quiet_ms = 0;
  float cpu_run = -1;       ///< cores in that time, −1 = not sampled
  float unsampled_ms = -1;  ///< from the last sample to the end, −1 = no samples
  uint32_t frame = 0;       ///< index in Job::functions + 1 of the innermost Python function, 0 = unknown
  int32_t line = 0;
  uint32_t user_frame = 0;  ///< … of the innermost one of the user's code
  int32_t user_line = 0;
  uint32_t opens_begin = 0, opens_end = 0;  ///< in Job::opens, what is waited for first
};

struct RankFacts {
  int32_t rank = -1;
  uint32_t host = 0;    ///< in Job::words
  uint32_t device = 0;  ///< in Job::words: accelerator model
  int32_t gpu = -1;
  uint32_t labels = 0;  ///< in Job::label_sets
  bool gpu_job = false;
  bool observed = true;  ///< false: it wrote no trace, and has what a typical peer has (stand_in_for_unobserved)
  StepSource step_source = StepSource::kWindow;
  bool steps_numbered = false;  ///< by the job, alike on all ranks
  uint32_t steps = 0;           ///< complete regular ones
  float step_ms = 0;            ///< mean of them; the window's length where there are none
  float window_ms = 0;
  uint64_t events = 0;
  std::array<float, kTimeClassCount> share{};  ///< of the window
  float python_in_steps = -1;                  ///< Python's share of the complete steps, −1 = too few
  float work = 0;                              ///< of compute, a step
  uint32_t uses_begin = 0, uses_end = 0;       ///< in Job::uses
  uint32_t hardware_begin = 0, hardware_end = 0;
  uint32_t collectives_begin = 0, collectives_end = 0;
  uint32_t steps_begin = 0, steps_end = 0;    ///< in Job::steps, at most kMaxSteps
  uint32_t groups_begin = 0, groups_end = 0;  ///< in Job::memberships
  int64_t end_unix_ns = 0;                    ///< until when it was observed, own clock
  float observed_ms = 0;                      ///< for how long
  float silent_ms = 0;                        ///< from the end of its last event to then
  float since_step_ms = 0;                    ///< from the end of its last complete step to then
  float longest_step_ms = 0;                  ///< of all complete steps

  [[nodiscard]] float own() const { return 1 - share[static_cast<size_t>(TimeClass::kCommunication)]; }
};

/// The patterns of all ranks as columns: what comparison needs of them, some kilobytes a rank.
struct Job {
  static constexpr size_t kMaxSteps = 64;
  static constexpr size_t kMaxUses = 128;  ///< functions of one rank

  std::string id;
  int32_t world_size = -1;
  double step_ms = 0;  ///< median over the ranks of their mean step
  bool gpu_job = false;
  std::vector<RankFacts> ranks;  ///< ascending
  std::vector<FunctionUse> uses;
  std::vector<HardwareFact> hardware;
  std::vector<CollectiveUse> collectives;
  std::vector<StepFacts> steps;
  std::vector<JobFunction> functions;
  std::vector<std::string> words{""};
  std::vector<std::string> metrics;
  std::vector<std::map<std::string, std::string>> label_sets;
  std::vector<JobGroup> groups;
  std::vector<uint32_t> memberships;                   ///< groups of the ranks, used or not
  std::vector<std::pair<int32_t, int32_t>> exchanges;  ///< ranks (smaller first) that send to or receive from another
  std::vector<Entity> entities;
  std::vector<Signal> signals;  ///< by metric, unit
  std::vector<RankEnd> ends;    ///< by rank; of those whose window ended quietly
  std::vector<OpenUse> opens;

  [[nodiscard]] std::span<const FunctionUse> uses_of(const RankFacts& rank) const {
    return {uses.data() + rank.uses_begin, uses.data() + rank.uses_end};
  }
  [[nodiscard]] std::span<const HardwareFact> hardware_of(const RankFacts& rank) const {
    return {hardware.data() + rank.hardware_begin, hardware.data() + rank.hardware_end};
  }
  [[nodiscard]] std::span<const CollectiveUse> collectives_of(const RankFacts& rank) const {
    return {collectives.data() + rank.collectives_begin, collectives.data() + rank.collectives_end};
  }
  [[nodiscard]] std::span<const uint32_t> groups_of(const RankFacts& rank) const {
    return {memberships.data() + rank.groups_begin, memberships.data() + rank.groups_end};
  }
  [[nodiscard]] std::span<const StepFacts> steps_of(const RankFacts& rank) const {
    return {steps.data() + rank.steps_begin, steps.data() + rank.steps_end};
  }
  [[nodiscard]] std::span<const OpenUse> opens_of(const RankEnd& end) const {
    return {opens.data() + end.opens_begin, opens.data() + end.opens_end};
  }
  [[nodiscard]] const Signal* signal(std::string_view metric) const;
};

/// Gathers patterns one at a time, so that a million of them need not be in memory at once. Deterministic for a given
/// order of patterns; several builders may gather parts of a job at once.
class JobBuilder {
 public:
  /// `most_uses`: functions that are kept of one rank.
  explicit JobBuilder(size_t most_uses = Job::kMaxUses) : most_uses_(most_uses) {}
  void add(const RankPattern& pattern);
  /// As if the patterns that `more` was given had been added here.
  void append(JobBuilder&& more);
  /// Makes room for so many ranks like those added so far.
  void reserve(size_t ranks);
  [[nodiscard]] size_t ranks() const { return job_.ranks.size(); }
  /// Orders the ranks, looks up what `names` say of the functions, and gives the job away; the builder is then empty.
  Job finish(const NameTable& names);

 private:
  uint32_t word(const std::string& text);
  uint32_t metric(const std::string& text);
  uint32_t function(uint64_t hash, FunctionKind kind);
  uint32_t entity(const std::string& text);
  uint32_t group(const GroupPattern& group);
  uint32_t group(std::string key, JobGroup group);
  uint32_t signal(const std::string& metric, const std::string& unit, size_t place);
  void add_value(uint32_t signal, const SignalValue& value);
  void append_columns(const JobBuilder& more);
  void append_signals(const JobBuilder& more, const std::vector<uint32_t>& entities);
  void order_entities();
  void add_uses(const RankPattern& pattern, double steps, RankFacts& facts);
  void add_collectives(const RankPattern& pattern, double steps, RankFacts& facts);
  void add_steps(const RankPattern& pattern, RankFacts& facts);
  void add_signals(const RankPattern& pattern, uint32_t rank_index);
  void add_end(const RankPattern& pattern, RankFacts& facts);

  size_t most_uses_;
  Job job_;
  std::vector<uint32_t> pattern_groups_;  // of the pattern that is being added
  std::unordered_map<std::string, uint32_t> words_;
  std::unordered_map<std::string, uint32_t> metrics_;
  std::unordered_map<uint64_t, uint32_t> functions_;
  std::unordered_map<std::string, uint32_t> entities_;
  std::array<uint32_t, 8> recent_entities_{};  // a pattern tells of few, and of each again and again
  size_t next_recent_ = 0;
  std::unordered_map<std::string, uint32_t> groups_;
  std::unordered_map<std::string, uint32_t> label_sets_;
  std::map<std::pair<std::string, std::string>, uint32_t> signals_;
  std::vector<uint32_t> signal_at_;           // by place in the last pattern: patterns mostly tell the same signals
  std::vector<std::vector<bool>> has_value_;  // by signal: of which entities
};

/// Looks up what `names` say of the job's functions.
void classify_functions(Job& job, const NameTable& names);

Job build_job(std::span<const RankPattern> patterns, const NameTable& names);

}  // namespace eroica
