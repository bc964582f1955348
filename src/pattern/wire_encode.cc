#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "pattern/instance_sampling.h"
#include "pattern/wire.h"
#include "pattern/wire_limits.h"
#include "pattern/wire_version.h"
#include "pattern/zstd_block.h"
#include "proto/pattern.pb.h"

namespace eroica {
namespace {

uint64_t not_negative(int64_t value) { return static_cast<uint64_t>(std::max<int64_t>(value, 0)); }

uint32_t not_negative(int32_t value) { return static_cast<uint32_t>(std::max(value, 0)); }

float finite(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return std::isnan(value) ? 0.0F : static_cast<float>(std::clamp(value, -kMost, kMost));
}

float not_negative(double value) { return std::max(0.0F, finite(value)); }

/// Differences wrap as unsigned numbers do; adding them up again wraps back.
int64_t difference(int64_t value, int64_t before) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(before));
}

template <typename Column>
void add_series(const std::vector<uint32_t>& series, Column* deltas) {
  int64_t before = 0;
  for (const uint32_t value : series) {
    deltas->Add(int64_t{value} - before);
    before = value;
  }
}

/// Words and hashes are written once and referred to by their place.
class Tables {
 public:
  explicit Tables(wire::Pattern& message) : message_(message) {}

  uint32_t string(const std::string& text) {
    if (text.empty()) {
      return 0;
    }
    const auto [at, added] = strings_.try_emplace(text, static_cast<uint32_t>(strings_.size()) + 1);
    if (added) {
      message_.add_strings(text);
    }
    return at->second;
  }

  uint32_t name(uint64_t hash) {
    const auto [at, added] = names_.try_emplace(hash, static_cast<uint32_t>(names_.size()));
    if (added) {
      message_.add_name_hashes(hash);
    }
    return at->second;
  }

 private:
  wire::Pattern& message_;
  std::map<std::string, uint32_t> strings_;
  std::map<uint64_t, uint32_t> names_;
};

void write_sketch(const QuantileSketch& sketch, wire::Sketch* message) {
  uint32_t before = 0;
  for (const auto& [bucket, count] : sketch.buckets()) {
    message->add_bucket_delta(bucket - before);
    message->add_count(count);
    before = bucket;
  }
}

void write_function(const FunctionPattern& function, Tables& tables, wire::Function* message) {
  message->set_kind(static_cast<wire::FunctionKind>(function.kind));
  message->set_line(not_negative(function.line));
  message->set_executions(function.executions);
  message->set_total_ns(not_negative(function.total_ns));
  message->set_child_ns(std::max<int64_t>(function.total_ns, 0) - std::max<int64_t>(function.self_ns, 0));
  message->set_exposed_ns(not_negative(function.exposed_ns));
  message->set_longest_ns(not_negative(function.longest_ns));
  message->set_bytes(not_negative(function.bytes));
  message->set_shape(function.shape);
  message->set_shapes(std::min(function.shapes, kMostShapes));
  message->set_work(not_negative(function.work));
  message->set_beside_executions(function.beside_executions);
  message->set_beside_ns(not_negative(function.beside_ns));
  if (!function.durations.buckets().empty()) {
    write_sketch(function.durations, message->mutable_durations());
  }
  for (const Issuer& issuer : function.issuers) {
    wire::Issuer* row = message->add_issuers();
    row->set_name(tables.name(issuer.name));
    row->set_line(not_negative(issuer.line));
    row->set_ns(not_negative(issuer.ns));
  }
  for (const HardwareUse& use : function.hardware) {
    wire::HardwareUse* row = message->add_hardware();
    row->set_metric(tables.string(use.metric));
    row->set_entity(tables.string(use.entity));
    row->set_unit(tables.string(use.unit));
    row->set_mean(finite(use.mean));
    row->set_deviation(finite(use.deviation));
    row->set_covered_us(not_negative(use.covered_ns) / 1000);
  }
  add_series(function.step_exposed_us, message->mutable_step_exposed_delta_us());
}

bool is_empty(const FunctionPattern& rest) {
  return rest.executions == 0 && rest.total_ns <= 0 && rest.self_ns <= 0 && rest.exposed_ns <= 0 &&
         rest.longest_ns <= 0 && rest.bytes <= 0 && not_negative(rest.work) <= 0 && rest.beside_executions == 0 &&
         rest.beside_ns <= 0 && rest.durations.buckets().empty();
}

void write_signal(const SignalUse& use, Tables& tables, wire::SignalUse* message) {
  message->set_metric(tables.string(use.metric));
  message->set_entity(tables.string(use.entity));
  message->set_unit(tables.string(use.unit));
  message->set_mean(finite(use.mean));
  message->set_deviation(finite(use.deviation));
  message->set_minimum(finite(use.minimum));
  message->set_maximum(finite(use.maximum));
  message->set_covered_us(not_negative(use.covered_ns) / 1000);
}

void write_steps(const std::vector<StepPattern>& steps, wire::Steps* message) {
  StepPattern before;
  for (const StepPattern& step : steps) {
    message->add_number_delta(difference(step.number, before.number));
    message->add_start_delta_ns(difference(step.start_ns, before.start_ns));
    message->add_duration_ns(not_negative(step.duration_ns));
    message->add_flags((step.complete ? 0 : kStepCut) | (step.irregular ? kStepIrregular : 0));
    message->add_fetch_ns(not_negative(step.fetch_ns));
    before = step;
  }
  for (size_t time_class = 0; time_class < kTimeClassCount; ++time_class) {
    for (const StepPattern& step : steps) {
      message->add_budget_ns(not_negative(step.budget[time_class]));
    }
  }
  if (std::any_of(steps.begin(), steps.end(), [](const StepPattern& step) { return not_negative(step.work) > 0; })) {
    for (const StepPattern& step : steps) {
      message->add_work(not_negative(step.work));
    }
  }
  if (std::any_of(steps.begin(), steps.end(), [](const StepPattern& step) { return step.launched_ns > 0; })) {
    for (const StepPattern& step : steps) {
      message->add_launched_ns(not_negative(step.launched_ns));
    }
  }
}

void write_group(const GroupPattern& group, wire::Group* message) {
  message->set_name(group.name);
  message->set_desc(group.desc);
  for (const RankRun& run : rank_runs(group.ranks)) {
    message->add_run_first(static_cast<uint32_t>(run.first));
    message->add_run_stride(static_cast<uint32_t>(run.stride));
    message->add_run_count(run.count);
  }
  if (group.size >= 0) {
    message->set_size(static_cast<uint32_t>(group.size));
  }
}

void write_collective(const CollectiveSummary& summary, Tables& tables, wire::Collective* message) {
  message->set_kind(tables.string(summary.kind));
  message->set_dtype(tables.string(summary.dtype));
  message->set_group(summary.group);
  message->set_count(summary.count);
  message->set_bytes(not_negative(summary.bytes));
  message->set_total_ns(not_negative(summary.total_ns));
  message->set_exposed_ns(not_negative(summary.exposed_ns));
  write_sketch(summary.durations, message->mutable_durations());
  add_series(summary.step_total_us, message->mutable_step_total_delta_us());
}

void write_instances(const RankPattern& pattern, wire::Instances* message) {
  struct Before {
    int64_t sequence = -1;
    int64_t position = -1;
  };
  std::vector<Before> befores(pattern.collectives.size());
  const bool peers = std::any_of(pattern.instances.begin(), pattern.instances.end(),
                                 [](const CollectiveInstance& instance) { return instance.peer >= 0; });
  int64_t start_before = 0;
  for (const CollectiveInstance& instance : pattern.instances) {
    Before& before = befores[instance.summary];
    const int64_t sequence = std::max<int64_t>(instance.sequence, -1);
    message->add_summary(instance.summary);
    message->add_sequence_delta(difference(sequence, before.sequence));
    message->add_position_delta(difference(instance.position, before.position));
    message->add_start_delta_ns(difference(instance.start_ns, start_before));
    message->add_duration_ns(not_negative(instance.duration_ns));
    message->add_bytes(not_negative(instance.bytes));
    if (peers) {
      message->add_peer(std::max(instance.peer, -1));
    }
    before = {sequence, instance.position};
    start_before = instance.start_ns;
  }
  message->set_sampling(pattern.instance_sampling);
  message->set_seen(pattern.instances_seen);
}

void write_end(const WindowEnd& end, Tables& tables, wire::Pattern& pattern) {
  if (end == WindowEnd{}) {
    return;
  }
  wire::WindowEnd* message = pattern.mutable_end();
  message->set_observed_ns(not_negative(end.observed_ns));
  message->set_last_event_ns(not_negative(end.last_event_ns));
  message->set_quiet_ns(not_negative(end.quiet_ns));
  for (const OpenCollective& open : end.open) {
    wire::OpenCollective* row = message->add_open();
    row->set_kind(tables.string(open.kind));
    row->set_group(open.group);
    row->set_sequence(std::max<int64_t>(open.sequence, -1));
    row->set_since_ns(not_negative(open.since_ns));
    row->set_bytes(not_negative(open.bytes));
    row->set_longest_ns(not_negative(open.longest_ns));
    row->set_flags((open.begun ? kOpenBegun : 0) | (open.unusual ? kOpenUnusual : 0));
  }
  if (end.frame != 0) {
    message->set_frame(tables.name(end.frame));
    message->set_line(not_negative(end.line));
  }
  if (end.user_frame != 0) {
    message->set_user_frame(tables.name(end.user_frame));
    message->set_user_line(not_negative(end.user_line));
  }
  if (end.cpu_run >= 0) {
    message->set_cpu_run(finite(end.cpu_run));
  }
  if (end.sampled_ns >= 0) {
    message->set_sampled_ns(not_negative(end.sampled_ns));
  }
}

void write_context(const RankPattern& pattern, wire::Pattern& message) {
  message.set_version(kWireVersion);
  if (pattern.rank >= 0) {
    message.set_rank(static_cast<uint32_t>(pattern.rank));
  }
  if (pattern.gpu >= 0) {
    message.set_gpu(static_cast<uint32_t>(pattern.gpu));
  }
  if (pattern.world_size >= 0) {
    message.set_world_size(static_cast<uint32_t>(pattern.world_size));
  }
  message.set_host(pattern.host);
  message.set_job_id(pattern.job_id);
  for (const auto& [key, value] : pattern.labels) {
    wire::Label* label = message.add_labels();
    label->set_key(key);
    label->set_value(value);
  }
  message.set_device(pattern.device);
  message.set_gpu_job(pattern.gpu_job);
  message.set_window_start_unix_ns(pattern.window_start_unix_ns);
  message.set_window_ns(not_negative(pattern.window_ns));
  message.set_step_source(static_cast<uint32_t>(pattern.step_source));
  message.set_steps_numbered(pattern.steps_numbered);
  message.set_step_note(pattern.step_note);
}

/// Zeros at the end say nothing.
template <typename Values, typename Column>
void write_counts(const Values& values, Column* column) {
  size_t size = values.size();
  while (size > 0 && values[size - 1] <= 0) {
    --size;
  }
  for (size_t i = 0; i < size; ++i) {
    column->Add(static_cast<uint64_t>(std::max<typename Values::value_type>(values[i], 0)));
  }
}

/// A pattern within some limits, as it stands on the wire.
std::string serialize(const RankPattern& pattern) {
  wire::Pattern message;
  Tables tables(message);
  write_context(pattern, message);
  write_steps(pattern.steps, message.mutable_steps());
  write_counts(pattern.budget, message.mutable_budget_ns());
  for (const FunctionPattern& function : pattern.functions) {
    wire::Function* row = message.add_functions();
    row->set_name(tables.name(function.name));
    write_function(function, tables, row);
  }
  for (const FunctionPattern& rest : pattern.rest) {
    if (!is_empty(rest)) {
      write_function(rest, tables, message.add_rest());
    }
  }
  for (const SignalUse& use : pattern.signals) {
    write_signal(use, tables, message.add_signals());
  }
  for (const GroupPattern& group : pattern.groups) {
    write_group(group, message.add_groups());
  }
  for (const CollectiveSummary& summary : pattern.collectives) {
    write_collective(summary, tables, message.add_collectives());
  }
  write_instances(pattern, message.mutable_instances());
  write_end(pattern.end, tables, message);
  write_counts(pattern.category_ns, message.mutable_category_ns());
  write_counts(pattern.category_count, message.mutable_category_count());
  message.set_events(pattern.import.events);
  message.set_text_bytes(pattern.import.bytes);
  write_counts(pattern.import.defects.count, message.mutable_defects());
  for (const std::string& note : pattern.import.notes) {
    message.add_notes(note);
  }
  return message.SerializeAsString();
}

/// The pattern encoded, if it is within the limit of bytes.
std::optional<std::string> fitting(const RankPattern& pattern) {
  const std::string message = serialize(pattern);
  if (message.size() <= kMaxPatternMessageBytes) {
    std::string encoded = zstd_block(message);
    if (encoded.size() <= kMaxPatternBytes) {
      return encoded;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string encode_pattern(const RankPattern& pattern) {
  const std::vector<WireLimits>& limits = wire_limits();
  const RankPattern most = reduce(pattern, limits.front());
  if (std::optional<std::string> encoded = fitting(most)) {
    return *std::move(encoded);
  }
  // The first limits that fit. The last ones always do: what they leave is bounded far below the limit.
  size_t too_much = 0;
  size_t fits = limits.size() - 1;
  std::string best;
  while (fits - too_much > 1) {
    const size_t middle = (too_much + fits) / 2;
    if (std::optional<std::string> encoded = fitting(reduce(most, limits[middle]))) {
      fits = middle;
      best = *std::move(encoded);
    } else {
      too_much = middle;
    }
  }
  return best.empty() ? zstd_block(serialize(reduce(most, limits.back()))) : best;
}

std::vector<uint64_t> referenced_names(const RankPattern& pattern) {
  std::vector<uint64_t> names;
  for (const FunctionPattern& function : pattern.functions) {
    names.push_back(function.name);
    for (const Issuer& issuer : function.issuers) {
      names.push_back(issuer.name);
    }
  }
  names.push_back(pattern.end.frame);
  names.push_back(pattern.end.user_frame);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase(names, 0);
  return names;
}

}  // namespace eroica
