#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <google/protobuf/arena.h>

#include "pattern/text.h"
#include "pattern/wire.h"
#include "pattern/wire_limits.h"
#include "pattern/wire_version.h"
#include "pattern/zstd_block.h"
#include "proto/pattern.pb.h"

namespace eroica {
namespace {

constexpr size_t kMostSampling = 63;

/// Takes a message apart; the first thing that is wrong with it stays in error(), and what follows does no harm.
class Decoder {
 public:
  explicit Decoder(const wire::Pattern& message) : message_(message) {}

  RankPattern pattern() {
    read_context();
    read_steps();
    for (const wire::Function& row : message_.functions()) {
      FunctionPattern& function = pattern_.functions.emplace_back();
      function.name = name(row.name());
      read_function(row, function);
    }
    read_rest();
    for (const wire::SignalUse& row : message_.signals()) {
      read_signal(row);
    }
    for (const wire::Group& row : message_.groups()) {
      read_group(row);
    }
    for (const wire::Collective& row : message_.collectives()) {
      read_collective(row);
    }
    read_instances();
    read_end();
    read_import();
    return std::move(pattern_);
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void fail(std::string_view what) {
    if (error_.empty()) {
      error_ = what;
    }
  }

  int64_t signed_value(uint64_t value, std::string_view what) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail(fmt::format("{} is out of range", what));
      return 0;
    }
    return static_cast<int64_t>(value);
  }

  double number(float value, std::string_view what) {
    if (!std::isfinite(value)) {
      fail(fmt::format("{} is no number", what));
      return 0;
    }
    return value;
  }

  double positive_number(float value, std::string_view what) {
    if (!(value >= 0)) {
      fail(fmt::format("{} is out of range", what));
      return 0;
    }
    return number(value, what);
  }

  int64_t from_us(uint64_t value, std::string_view what) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 1000) {
      fail(fmt::format("{} is out of range", what));
      return 0;
    }
    return static_cast<int64_t>(value) * 1000;
  }

  int32_t small_value(uint32_t value, std::string_view what) {
    if (value > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
      fail(fmt::format("{} is out of range", what));
      return 0;
    }
    return static_cast<int32_t>(value);
  }

  std::string text(uint32_t index) {
    if (index == 0) {
      return {};
    }
    if (index > static_cast<uint32_t>(message_.strings_size())) {
      fail("a string index is out of range");
      return {};
    }
    return clean(message_.strings(static_cast<int>(index) - 1));
  }

  const std::string& clean(const std::string& text) {
    if (!is_clean_text(text)) {
      fail("a text is not valid UTF-8 or holds control characters");
    }
    return text;
  }

  uint64_t name(uint32_t index) {
    if (index >= static_cast<uint32_t>(message_.name_hashes_size())) {
      fail("a name index is out of range");
      return 0;
    }
    return message_.name_hashes(static_cast<int>(index));
  }

  /// The sum of a delta column so far; wraps as the writer's differences did.
  static int64_t sum(int64_t before, int64_t delta) {
    return static_cast<int64_t>(static_cast<uint64_t>(before) + static_cast<uint64_t>(delta));
  }

  template <typename Column>
  std::vector<uint32_t> series(const Column& deltas) {
    std::vector<uint32_t> values;
    if (deltas.empty()) {
      return values;
    }
    if (static_cast<size_t>(deltas.size()) != pattern_.steps.size()) {
      fail("a series has not one value a step");
      return values;
    }
    values.reserve(pattern_.steps.size());
    int64_t value = 0;
    for (const int64_t delta : deltas) {
      value = sum(value, delta);
      if (value < 0 || value > std::numeric_limits<uint32_t>::max()) {
        fail("a value of a series is out of range");
        return {};
      }
      values.push_back(static_cast<uint32_t>(value));
    }
    return values;
  }

  QuantileSketch sketch(const wire::Sketch& message) {
    if (message.bucket_delta_size() != message.count_size()) {
      fail("a sketch has not one count a bucket");
      return {};
    }
    std::vector<std::pair<uint16_t, uint64_t>> buckets;
    uint64_t bucket = 0;
    uint64_t total = 0;
    for (int i = 0; i < message.count_size(); ++i) {
      bucket += message.bucket_delta(i);
      const bool ascends = i == 0 || message.bucket_delta(i) > 0;
      if (!ascends || bucket > QuantileSketch::kMaxBucket || message.count(i) == 0 ||
          __builtin_add_overflow(total, message.count(i), &total)) {
        fail("a sketch is damaged");
        return {};
      }
      buckets.emplace_back(static_cast<uint16_t>(bucket), message.count(i));
    }
    return QuantileSketch::from_buckets(std::move(buckets));
  }

  template <size_t N, typename Value, typename Column>
  void read_counts(const Column& column, std::array<Value, N>& values, std::string_view what) {
    // A newer writer may know more of them.
    for (size_t i = 0; i < std::min(N, static_cast<size_t>(column.size())); ++i) {
      const uint64_t value = column.Get(static_cast<int>(i));
      if constexpr (std::is_signed_v<Value>) {
        values[i] = signed_value(value, what);
      } else {
        values[i] = value;
      }
    }
  }

  void read_context() {
    pattern_.rank = message_.has_rank() ? small_value(message_.rank(), "rank") : -1;
    pattern_.gpu = message_.has_gpu() ? small_value(message_.gpu(), "gpu") : -1;
    pattern_.world_size = message_.has_world_size() ? small_value(message_.world_size(), "world_size") : -1;
    pattern_.host = clean(message_.host());
    pattern_.job_id = clean(message_.job_id());
    for (const wire::Label& label : message_.labels()) {
      pattern_.labels.emplace(clean(label.key()), clean(label.value()));
    }
    pattern_.device = clean(message_.device());
    pattern_.gpu_job = message_.gpu_job();
    pattern_.window_start_unix_ns = message_.window_start_unix_ns();
    pattern_.window_ns = signed_value(message_.window_ns(), "window_ns");
    if (message_.step_source() > static_cast<uint32_t>(StepSource::kWindow)) {
      fail("step_source is unknown");
    } else {
      pattern_.step_source = static_cast<StepSource>(message_.step_source());
      // Patterns of before the field existed.
      pattern_.steps_numbered = message_.steps_numbered() || pattern_.step_source == StepSource::kProfilerStep;
    }
    pattern_.step_note = clean(message_.step_note());
    read_counts(message_.budget_ns(), pattern_.budget, "budget_ns");
  }

  void read_steps() {
    const wire::Steps& columns = message_.steps();
    const int count = columns.number_delta_size();
    if (columns.start_delta_ns_size() != count || columns.duration_ns_size() != count ||
        columns.flags_size() != count || columns.fetch_ns_size() != count ||
        static_cast<size_t>(columns.budget_ns_size()) != static_cast<size_t>(count) * kTimeClassCount ||
        (columns.work_size() != 0 && columns.work_size() != count) ||
        (columns.launched_ns_size() != 0 && columns.launched_ns_size() != count)) {
      fail("the columns of steps differ in length");
      return;
    }
    StepPattern step;
    for (int i = 0; i < count; ++i) {
      step.number = sum(step.number, columns.number_delta(i));
      step.start_ns = sum(step.start_ns, columns.start_delta_ns(i));
      step.duration_ns = signed_value(columns.duration_ns(i), "a step's duration");
      step.complete = (columns.flags(i) & kStepCut) == 0;
      step.irregular = (columns.flags(i) & kStepIrregular) != 0;
      step.fetch_ns = signed_value(columns.fetch_ns(i), "a step's fetch time");
      step.work = columns.work_size() == 0 ? 0 : positive_number(columns.work(i), "a step's work");
      step.launched_ns =
          columns.launched_ns_size() == 0 ? 0 : signed_value(columns.launched_ns(i), "a step's launched compute");
      for (size_t time_class = 0; time_class < kTimeClassCount; ++time_class) {
        const int at = static_cast<int>(time_class) * count + i;
        step.budget[time_class] = signed_value(columns.budget_ns(at), "a step's budget");
      }
      pattern_.steps.push_back(step);
    }
  }

  void read_function(const wire::Function& row, FunctionPattern& function) {
    if (row.kind() < 0 || static_cast<size_t>(row.kind()) >= kFunctionKindCount) {
      fail("a function's kind is unknown");
      return;
    }
    function.kind = static_cast<FunctionKind>(row.kind());
    function.line = small_value(row.line(), "a line");
    function.executions = row.executions();
    function.total_ns = signed_value(row.total_ns(), "total_ns");
    if (__builtin_sub_overflow(function.total_ns, row.child_ns(), &function.self_ns) || function.self_ns < 0) {
      fail("child_ns is out of range");
    }
    function.exposed_ns = signed_value(row.exposed_ns(), "exposed_ns");
    function.longest_ns = signed_value(row.longest_ns(), "longest_ns");
    function.bytes = signed_value(row.bytes(), "bytes");
    function.durations = sketch(row.durations());
    function.shape = row.shape();
    function.shapes = std::min(row.shapes(), kMostShapes);
    function.work = positive_number(row.work(), "a function's work");
    function.beside_executions = row.beside_executions();
    function.beside_ns = signed_value(row.beside_ns(), "beside_ns");
    for (const wire::Issuer& issuer : row.issuers()) {
      function.issuers.push_back(
          {name(issuer.name()), small_value(issuer.line(), "a line"), signed_value(issuer.ns(), "an issuer's time")});
    }
    for (const wire::HardwareUse& use : row.hardware()) {
      function.hardware.push_back(
          {text(use.metric()), text(use.entity()), text(use.unit()), number(use.mean(), "a hardware mean"),
           number(use.deviation(), "a hardware deviation"), from_us(use.covered_us(), "a hardware covered_us")});
    }
    function.step_exposed_us = series(row.step_exposed_delta_us());
  }

  void read_rest() {
    std::array<bool, kFunctionKindCount> seen{};
    for (size_t kind = 0; kind < kFunctionKindCount; ++kind) {
      pattern_.rest[kind].kind = static_cast<FunctionKind>(kind);
    }
    for (const wire::Function& row : message_.rest()) {
      FunctionPattern rest;
      read_function(row, rest);
      const auto kind = static_cast<size_t>(rest.kind);
      if (std::exchange(seen[kind], true)) {
        fail("two sums of the functions left out are of one kind");
      }
      pattern_.rest[kind] = std::move(rest);
    }
  }

  void read_signal(const wire::SignalUse& row) {
    pattern_.signals.push_back(
        {text(row.metric()), text(row.entity()), text(row.unit()), number(row.mean(), "a signal's mean"),
         number(row.deviation(), "a signal's deviation"), number(row.minimum(), "a signal's minimum"),
         number(row.maximum(), "a signal's maximum"), from_us(row.covered_us(), "a signal's covered_us")});
  }

  void read_group(const wire::Group& row) {
    GroupPattern& group = pattern_.groups.emplace_back();
    group.name = clean(row.name());
    group.desc = clean(row.desc());
    group.size = row.has_size() ? small_value(row.size(), "a group's size") : -1;
    if (row.run_stride_size() != row.run_first_size() || row.run_count_size() != row.run_first_size()) {
      fail("the columns of a group's ranks differ in length");
      return;
    }
    for (int i = 0; i < row.run_first_size(); ++i) {
      const uint64_t count = row.run_count(i);
      const uint64_t last = row.run_first(i) + uint64_t{row.run_stride(i)} * (count - std::min<uint64_t>(count, 1));
      if (count > kMaxGroupRanks - group_ranks_ || last > std::numeric_limits<int32_t>::max()) {
        fail("a group's ranks are out of range");
        return;
      }
      group_ranks_ += count;
      for (uint64_t k = 0; k < count; ++k) {
        group.ranks.push_back(static_cast<int32_t>(row.run_first(i) + row.run_stride(i) * k));
      }
    }
  }

  void read_collective(const wire::Collective& row) {
    CollectiveSummary& summary = pattern_.collectives.emplace_back();
    summary.kind = text(row.kind());
    summary.dtype = text(row.dtype());
    summary.group = row.group();
    if (summary.group >= pattern_.groups.size()) {
      fail("a collective's group is out of range");
    }
    summary.count = row.count();
    summary.bytes = signed_value(row.bytes(), "a collective's bytes");
    summary.total_ns = signed_value(row.total_ns(), "a collective's time");
    summary.exposed_ns = signed_value(row.exposed_ns(), "a collective's time");
    summary.durations = sketch(row.durations());
    summary.step_total_us = series(row.step_total_delta_us());
  }

  void read_instances() {
    const wire::Instances& columns = message_.instances();
    const int count = columns.summary_size();
    const bool peers = columns.peer_size() > 0;
    if (columns.sequence_delta_size() != count || columns.position_delta_size() != count ||
        columns.start_delta_ns_size() != count || columns.duration_ns_size() != count ||
        columns.bytes_size() != count || (peers && columns.peer_size() != count)) {
      fail("the columns of instances differ in length");
      return;
    }
    if (columns.sampling() > kMostSampling) {
      fail("the sampling of instances is out of range");
      return;
    }
    std::vector<std::pair<int64_t, int64_t>> before(pattern_.collectives.size(), {-1, -1});
    int64_t start = 0;
    for (int i = 0; i < count; ++i) {
      if (columns.summary(i) >= before.size()) {
        fail("an instance's summary is out of range");
        return;
      }
      auto& [sequence, position] = before[columns.summary(i)];
      sequence = sum(sequence, columns.sequence_delta(i));
      position = sum(position, columns.position_delta(i));
      start = sum(start, columns.start_delta_ns(i));
      const int32_t peer = peers ? columns.peer(i) : -1;
      if (sequence < -1 || position < 0 || position > std::numeric_limits<uint32_t>::max() || peer < -1) {
        fail("an instance's sequence, position or peer is out of range");
        return;
      }
      pattern_.instances.push_back({columns.summary(i), sequence, static_cast<uint32_t>(position), start,
                                    signed_value(columns.duration_ns(i), "an instance's duration"),
                                    signed_value(columns.bytes(i), "an instance's bytes"), peer});
    }
    pattern_.instance_sampling = columns.sampling();
    pattern_.instances_seen = columns.seen();
    if (pattern_.instances_seen < pattern_.instances.size()) {
      fail("fewer instances were seen than are listed");
    }
  }

  void read_end() {
    const wire::WindowEnd& row = message_.end();
    WindowEnd& end = pattern_.end;
    end.observed_ns = signed_value(row.observed_ns(), "the end of the observation");
    end.last_event_ns = signed_value(row.last_event_ns(), "the last event's end");
    end.quiet_ns = signed_value(row.quiet_ns(), "a quiet time");
    for (const wire::OpenCollective& from : row.open()) {
      OpenCollective& open = end.open.emplace_back();
      open.kind = text(from.kind());
      open.group = from.group();
      open.sequence = from.sequence();
      open.since_ns = signed_value(from.since_ns(), "an open collective's start");
      open.bytes = signed_value(from.bytes(), "an open collective's bytes");
      open.longest_ns = signed_value(from.longest_ns(), "an open collective's longest duration");
      open.begun = (from.flags() & kOpenBegun) != 0;
      open.unusual = (from.flags() & kOpenUnusual) != 0;
      if (open.group >= pattern_.groups.size() || open.sequence < -1) {
        fail("an open collective's group or sequence is out of range");
      }
    }
    if (row.has_frame()) {
      end.frame = name(row.frame());
      end.line = small_value(row.line(), "a line");
    }
    if (row.has_user_frame()) {
      end.user_frame = name(row.user_frame());
      end.user_line = small_value(row.user_line(), "a line");
    }
    if (row.has_cpu_run()) {
      end.cpu_run = positive_number(row.cpu_run(), "cpu_run");
    }
    if (row.has_sampled_ns()) {
      end.sampled_ns = signed_value(row.sampled_ns(), "the last sample");
    }
  }

  void read_import() {
    read_counts(message_.category_ns(), pattern_.category_ns, "category_ns");
    read_counts(message_.category_count(), pattern_.category_count, "category_count");
    pattern_.import.events = message_.events();
    pattern_.import.bytes = message_.text_bytes();
    read_counts(message_.defects(), pattern_.import.defects.count, "defects");
    for (const std::string& note : message_.notes()) {
      pattern_.import.notes.push_back(clean(note));
    }
  }

  const wire::Pattern& message_;
  RankPattern pattern_;
  uint64_t group_ranks_ = 0;  // so far, of all groups
  std::string error_;
};

}  // namespace

Result<RankPattern> decode_pattern(std::string_view bytes) {
  const std::optional<std::string> message_bytes = unzstd_block(bytes, kMaxPatternMessageBytes);
  google::protobuf::Arena arena;  // a pattern is some hundred small messages, gone at once
  wire::Pattern& message = *google::protobuf::Arena::CreateMessage<wire::Pattern>(&arena);
  if (!message_bytes || !message.ParseFromString(*message_bytes) || message.version() == 0) {
    return Error{Error::Kind::kInvalid, "damaged, or no pattern"};
  }
  if (message.version() > kWireVersion) {
    return Error{Error::Kind::kUnsupported,
                 fmt::format("a pattern of version {}, made by a newer eroica; this one reads up to version {}",
                             message.version(), kWireVersion)};
  }
  Decoder decoder(message);
  RankPattern pattern = decoder.pattern();
  if (!decoder.error().empty()) {
    return Error{Error::Kind::kInvalid, "damaged pattern: " + decoder.error()};
  }
  return pattern;
}

}  // namespace eroica
