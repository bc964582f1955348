#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/pod_vector.h"
#include "pattern/text.h"
#include "pattern/wire.h"
#include "pattern/wire_limits.h"
#include "pattern/wire_reader.h"
#include "pattern/wire_version.h"
#include "pattern/zstd_block.h"

namespace eroica {
namespace {

constexpr size_t kMostSampling = 63;

using Numbers = std::vector<uint64_t>;
using Messages = PodVector<std::string_view>;

/// The message wire::Pattern of proto/pattern.proto: its numbers, and where its messages lie. Of messages that there is
/// one of, the last counts.
struct TopLevel {
  uint32_t version = 0;
  std::optional<uint32_t> rank, gpu, world_size;
  std::string_view host, job_id, device, step_note;
  Messages labels, functions, rest, groups, collectives, signals, notes;
  std::string_view steps, instances, end;
  bool gpu_job = false;
  bool steps_numbered = false;
  int64_t window_start_unix_ns = 0;
  uint64_t window_ns = 0;
  uint32_t step_source = 0;
  Numbers budget_ns, name_hashes, category_ns, category_count, defects;
  Messages strings;
  uint64_t events = 0;
  uint64_t text_bytes = 0;
};

/// Makes it as new, but keeps the memory of these lists.
template <typename Whole, typename... Lists>
void empty_lists(Whole& whole, Lists Whole::*... lists) {
  Whole empty;
  const auto keep = [&](auto list) {
    (whole.*list).clear();
    std::swap(whole.*list, empty.*list);
  };
  (keep(lists), ...);
  whole = std::move(empty);
}

void clear(TopLevel& top) {
  empty_lists(top, &TopLevel::labels, &TopLevel::functions, &TopLevel::rest, &TopLevel::groups, &TopLevel::collectives,
              &TopLevel::signals, &TopLevel::notes, &TopLevel::strings, &TopLevel::budget_ns, &TopLevel::name_hashes,
              &TopLevel::category_ns, &TopLevel::category_count, &TopLevel::defects);
}

void clear(RankPattern& pattern) {
  empty_lists(pattern, &RankPattern::steps, &RankPattern::functions, &RankPattern::signals, &RankPattern::groups,
              &RankPattern::collectives, &RankPattern::instances);
}

/// What of a function's message is not read with the rest of it.
struct FunctionDetails {
  size_t function = 0;  ///< in RankPattern::functions
  std::string_view durations;
  size_t issuers_begin = 0, issuers_end = 0;  ///< in Scratch::issuers
};

/// What is used for one part of a message after the other; each begins with clearing what it needs.
struct Scratch {
  std::array<Numbers, 8> columns;
  std::vector<float> reals;
  Messages issuers;   // of all functions of which they are still to be read
  Messages hardware;  // of one function
  std::vector<FunctionDetails> details;
  std::vector<int64_t> weights;
};

/// False: the bytes are no message.
bool read_top_level(std::string_view message, TopLevel& top) {
  WireReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1: top.version = in.varint32(); break;
      case 2: top.rank = in.varint32(); break;
      case 3: top.gpu = in.varint32(); break;
      case 4: top.world_size = in.varint32(); break;
      case 5: top.host = in.bytes(); break;
      case 6: top.job_id = in.bytes(); break;
      case 7: top.labels.push_back(in.bytes()); break;
      case 8: top.device = in.bytes(); break;
      case 9: top.gpu_job = in.varint() != 0; break;
      case 10: top.window_start_unix_ns = in.zigzag(); break;
      case 11: top.window_ns = in.varint(); break;
      case 12: top.step_source = in.varint32(); break;
      case 13: top.step_note = in.bytes(); break;
      case 14: top.steps = in.bytes(); break;
      case 15: in.append_varints(top.budget_ns); break;
      case 16: in.append_fixed64(top.name_hashes); break;
      case 17: top.strings.push_back(in.bytes()); break;
      case 18: top.functions.push_back(in.bytes()); break;
      case 19: top.rest.push_back(in.bytes()); break;
      case 20: top.groups.push_back(in.bytes()); break;
      case 21: top.collectives.push_back(in.bytes()); break;
      case 22: top.instances = in.bytes(); break;
      case 23: in.append_varints(top.category_ns); break;
      case 24: in.append_varints(top.category_count); break;
      case 25: top.events = in.varint(); break;
      case 26: top.text_bytes = in.varint(); break;
      case 27: in.append_varints(top.defects); break;
      case 28: top.notes.push_back(in.bytes()); break;
      case 29: top.signals.push_back(in.bytes()); break;
      case 30: top.end = in.bytes(); break;
      case 31: top.steps_numbered = in.varint() != 0; break;
      default: break;
    }
  }
  return !in.damaged();
}

/// Takes a message apart; the first thing that is wrong with it stays in error(), and what follows does no harm.
class Decoder {
 public:
  /// `pattern` is empty and is filled by decode().
  Decoder(const TopLevel& top, PatternDetail detail, size_t most_functions, Scratch& scratch, RankPattern& pattern)
      : top_(top), detail_(detail), most_functions_(most_functions), scratch_(scratch), pattern_(pattern) {}

  void decode() {
    read_strings();
    read_context();
    read_steps();
    read_functions();
    read_rest();
    pattern_.signals.reserve(top_.signals.size());
    for (const std::string_view row : top_.signals) read_signal(row);
    for (const std::string_view row : top_.groups) read_group(row);
    for (const std::string_view row : top_.collectives) read_collective(row);
    read_instances();
    read_end();
    read_import();
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  [[nodiscard]] bool is_whole() const { return detail_ == PatternDetail::kWhole; }

  void fail(std::string_view what) {
    if (error_.empty()) {
      error_ = what;
    }
  }

  void check(const WireReader& in) {
    if (in.damaged()) {
      fail("a message within it is cut or garbled");
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

  std::string_view text_view(uint64_t index) {
    if (index == 0) {
      return {};
    }
    if (index > top_.strings.size()) {
      fail("a string index is out of range");
      return {};
    }
    return top_.strings[index - 1];
  }

  std::string text(uint64_t index) { return std::string(text_view(index)); }

  bool check_clean(std::string_view text) {
    if (is_clean_text(text)) {
      return true;
    }
    fail("a text is not valid UTF-8 or holds control characters");
    return false;
  }

  std::string clean(std::string_view text) { return check_clean(text) ? std::string(text) : std::string(); }

  uint64_t name(uint64_t index) {
    if (index >= top_.name_hashes.size()) {
      fail("a name index is out of range");
      return 0;
    }
    return top_.name_hashes[index];
  }

  /// The sum of a delta column so far; wraps as the writer's differences did.
  static int64_t sum(int64_t before, uint64_t delta) {
    return static_cast<int64_t>(static_cast<uint64_t>(before) + static_cast<uint64_t>(WireReader::unzigzag(delta)));
  }

  std::vector<uint32_t> series(const Numbers& deltas) {
    std::vector<uint32_t> values;
    if (deltas.empty()) {
      return values;
    }
    if (deltas.size() != pattern_.steps.size()) {
      fail("a series has not one value a step");
      return values;
    }
    values.reserve(deltas.size());
    int64_t value = 0;
    for (const uint64_t delta : deltas) {
      value = sum(value, delta);
      if (value < 0 || value > std::numeric_limits<uint32_t>::max()) {
        fail("a value of a series is out of range");
        return {};
      }
      values.push_back(static_cast<uint32_t>(value));
    }
    return values;
  }

  QuantileSketch sketch(std::string_view message) {
    Numbers& bucket_deltas = column(0);
    Numbers& counts = column(1);
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: in.append_varints(bucket_deltas); break;
        case 2: in.append_varints(counts); break;
        default: break;
      }
    }
    check(in);
    if (bucket_deltas.size() != counts.size()) {
      fail("a sketch has not one count a bucket");
      return {};
    }
    std::vector<std::pair<uint16_t, uint64_t>> buckets;
    buckets.reserve(counts.size());
    uint64_t bucket = 0;
    uint64_t total = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto delta = static_cast<uint32_t>(bucket_deltas[i]);
      bucket += delta;
      const bool ascends = i == 0 || delta > 0;
      if (!ascends || bucket > QuantileSketch::kMaxBucket || counts[i] == 0 ||
          __builtin_add_overflow(total, counts[i], &total)) {
        fail("a sketch is damaged");
        return {};
      }
      buckets.emplace_back(static_cast<uint16_t>(bucket), counts[i]);
    }
    return QuantileSketch::from_buckets(std::move(buckets));
  }

  template <size_t N, typename Value>
  void read_counts(const Numbers& column, std::array<Value, N>& values, std::string_view what) {
    // A newer writer may know more of them.
    for (size_t i = 0; i < std::min(N, column.size()); ++i) {
      if constexpr (std::is_signed_v<Value>) {
        values[i] = signed_value(column[i], what);
      } else {
        values[i] = column[i];
      }
    }
  }

  /// An empty column whose memory is used again and again; the same one for the same number.
  Numbers& column(size_t number) {
    scratch_.columns[number].clear();
    return scratch_.columns[number];
  }

  void read_strings() {
    for (const std::string_view text : top_.strings) check_clean(text);
  }

  void read_context() {
    pattern_.rank = top_.rank ? small_value(*top_.rank, "rank") : -1;
    pattern_.gpu = top_.gpu ? small_value(*top_.gpu, "gpu") : -1;
    pattern_.world_size = top_.world_size ? small_value(*top_.world_size, "world_size") : -1;
    pattern_.host = clean(top_.host);
    pattern_.job_id = clean(top_.job_id);
    for (const std::string_view row : top_.labels) {
      std::string_view key;
      std::string_view value;
      WireReader in(row);
      while (in.next()) {
        switch (in.field()) {
          case 1: key = in.bytes(); break;
          case 2: value = in.bytes(); break;
          default: break;
        }
      }
      check(in);
      pattern_.labels.emplace(clean(key), clean(value));
    }
    pattern_.device = clean(top_.device);
    pattern_.gpu_job = top_.gpu_job;
    pattern_.window_start_unix_ns = top_.window_start_unix_ns;
    pattern_.window_ns = signed_value(top_.window_ns, "window_ns");
    if (top_.step_source > static_cast<uint32_t>(StepSource::kWindow)) {
      fail("step_source is unknown");
    } else {
      pattern_.step_source = static_cast<StepSource>(top_.step_source);
      // Patterns of before the field existed.
      pattern_.steps_numbered = top_.steps_numbered || pattern_.step_source == StepSource::kProfilerStep;
    }
    pattern_.step_note = clean(top_.step_note);
    read_counts(top_.budget_ns, pattern_.budget, "budget_ns");
  }

  void read_steps() {
    Numbers& number_deltas = column(0);
    Numbers& start_deltas = column(1);
    Numbers& durations = column(2);
    Numbers& flags = column(3);
    Numbers& budgets = column(4);
    Numbers& fetches = column(5);
    Numbers& launched = column(6);
    std::vector<float>& work = scratch_.reals;
    work.clear();
    WireReader in(top_.steps);
    while (in.next()) {
      switch (in.field()) {
        case 1: in.append_varints(number_deltas); break;
        case 2: in.append_varints(start_deltas); break;
        case 3: in.append_varints(durations); break;
        case 4: in.append_varints(flags); break;
        case 5: in.append_varints(budgets); break;
        case 6: in.append_varints(fetches); break;
        case 7: in.append_reals(work); break;
        case 8: in.append_varints(launched); break;
        default: break;
      }
    }
    check(in);
    const size_t count = number_deltas.size();
    if (start_deltas.size() != count || durations.size() != count || flags.size() != count || fetches.size() != count ||
        budgets.size() != count * kTimeClassCount || (!work.empty() && work.size() != count) ||
        (!launched.empty() && launched.size() != count)) {
      fail("the columns of steps differ in length");
      return;
    }
    pattern_.steps.reserve(count);
    StepPattern step;
    for (size_t i = 0; i < count; ++i) {
      step.number = sum(step.number, number_deltas[i]);
      step.start_ns = sum(step.start_ns, start_deltas[i]);
      step.duration_ns = signed_value(durations[i], "a step's duration");
      step.complete = (flags[i] & kStepCut) == 0;
      step.irregular = (flags[i] & kStepIrregular) != 0;
      step.fetch_ns = signed_value(fetches[i], "a step's fetch time");
      step.work = work.empty() ? 0 : positive_number(work[i], "a step's work");
      step.launched_ns = launched.empty() ? 0 : signed_value(launched[i], "a step's launched compute");
      for (size_t time_class = 0; time_class < kTimeClassCount; ++time_class) {
        step.budget[time_class] = signed_value(budgets[time_class * count + i], "a step's budget");
      }
      pattern_.steps.push_back(step);
    }
  }

  Issuer issuer(std::string_view message) {
    uint32_t name_index = 0;
    uint32_t line = 0;
    uint64_t ns = 0;
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: name_index = in.varint32(); break;
        case 2: line = in.varint32(); break;
        case 3: ns = in.varint(); break;
        default: break;
      }
    }
    check(in);
    return {name(name_index), small_value(line, "a line"), signed_value(ns, "an issuer's time")};
  }

  static uint32_t metric_of(std::string_view hardware) {
    uint32_t metric = 0;
    WireReader in(hardware);
    while (in.next()) {
      if (in.field() == 1) metric = in.varint32();
    }
    return metric;
  }

  HardwareUse hardware(std::string_view message) {
    uint32_t metric = 0;
    uint32_t entity = 0;
    uint32_t unit = 0;
    float mean = 0;
    float deviation = 0;
    uint64_t covered_us = 0;
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: metric = in.varint32(); break;
        case 2: entity = in.varint32(); break;
        case 3: unit = in.varint32(); break;
        case 4: mean = in.real(); break;
        case 5: deviation = in.real(); break;
        case 6: covered_us = in.varint(); break;
        default: break;
      }
    }
    check(in);
    return {text(metric),
            text(entity),
            text(unit),
            number(mean, "a hardware mean"),
            number(deviation, "a hardware deviation"),
            from_us(covered_us, "a hardware covered_us")};
  }

  void read_functions() {
    std::vector<FunctionDetails>& details = scratch_.details;
    details.clear();
    scratch_.issuers.clear();
    pattern_.functions.reserve(top_.functions.size());
    for (const std::string_view row : top_.functions) {
      if (!is_whole() && tells_nothing(row)) continue;
      FunctionPattern& function = pattern_.functions.emplace_back();
      FunctionDetails found = read_function(row, function);
      if (!is_whole() && is_negligible(function)) {
        if (function.kind != FunctionKind::kCompute) pattern_.functions.pop_back();
        continue;
      }
      found.function = pattern_.functions.size() - 1;
      details.push_back(found);
    }
    const int64_t least = is_whole() ? 0 : least_weight();
    for (const FunctionDetails& one : details) {
      FunctionPattern& function = pattern_.functions[one.function];
      if (weight_of(function) >= least) read_details(one, function);
    }
  }

  /// To others of the job, as most of a rank's functions: told by what stands at the front of the message.
  [[nodiscard]] bool tells_nothing(std::string_view message) const {
    constexpr uint32_t kLastOfWeight = 7;
    uint64_t kind = 0;
    uint64_t total_ns = 0;
    uint64_t exposed_ns = 0;
    int64_t child_ns = 0;
    bool has_total = false;  // else its fields are in another order, or it took no time
    WireReader in(message);
    while (in.next() && in.field() <= kLastOfWeight) {
      switch (in.field()) {
        case 2: kind = in.varint(); break;
        case 5:
          total_ns = in.varint();
          has_total = true;
          break;
        case 6: child_ns = in.zigzag(); break;
        case 7: exposed_ns = in.varint(); break;
        default: break;
      }
    }
    if (in.damaged() || !has_total || kind == static_cast<uint64_t>(FunctionKind::kCompute)) return false;
    const double self_ns = static_cast<double>(total_ns) - static_cast<double>(child_ns);
    return self_ns >= 0 && is_negligible(std::max(static_cast<double>(exposed_ns), self_ns));
  }

  static int64_t weight_of(const FunctionPattern& function) { return std::max(function.exposed_ns, function.self_ns); }

  /// Of the functions whose details are told; somewhat less, for who weighs them in single precision.
  int64_t least_weight() {
    if (scratch_.details.size() <= most_functions_) return 0;
    if (most_functions_ == 0) return std::numeric_limits<int64_t>::max();
    std::vector<int64_t>& weights = scratch_.weights;
    weights.clear();
    for (const FunctionDetails& one : scratch_.details) weights.push_back(weight_of(pattern_.functions[one.function]));
    const auto last = weights.begin() + static_cast<ptrdiff_t>(most_functions_ - 1);
    std::nth_element(weights.begin(), last, weights.end(), std::greater<>());
    return *last - *last / 1'000'000 - 1;
  }

  void read_details(const FunctionDetails& details, FunctionPattern& function) {
    const auto issuers =
        scratch_.issuers.span().subspan(details.issuers_begin, details.issuers_end - details.issuers_begin);
    function.issuers.reserve(issuers.size());
    for (const std::string_view row : issuers) function.issuers.push_back(issuer(row));
    function.durations = sketch(details.durations);
  }

  /// Leaves the duration's sketch and the issuers to read_details().
  FunctionDetails read_function(std::string_view message, FunctionPattern& function, bool named = true) {
    uint32_t name_index = 0;
    uint64_t kind = 0;
    int64_t child_ns = 0;
    FunctionDetails details;
    details.issuers_begin = scratch_.issuers.size();
    Numbers& deltas = column(2);
    scratch_.hardware.clear();
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: name_index = in.varint32(); break;
        case 2: kind = in.varint(); break;
        case 3: function.line = small_value(in.varint32(), "a line"); break;
        case 4: function.executions = in.varint(); break;
        case 5: function.total_ns = signed_value(in.varint(), "total_ns"); break;
        case 6: child_ns = in.zigzag(); break;
        case 7: function.exposed_ns = signed_value(in.varint(), "exposed_ns"); break;
        case 8: function.longest_ns = signed_value(in.varint(), "longest_ns"); break;
        case 9: function.bytes = signed_value(in.varint(), "bytes"); break;
        case 10: details.durations = in.bytes(); break;
        case 11: scratch_.issuers.push_back(in.bytes()); break;
        case 12:
          if (is_whole() || with_hardware_ < kFunctionsWithHardware) scratch_.hardware.push_back(in.bytes());
          break;
        case 13:
          if (is_whole()) in.append_varints(deltas);
          break;
        case 14: function.shape = in.fixed32(); break;
        case 15: function.shapes = std::min(in.varint32(), kMostShapes); break;
        case 16: function.work = positive_number(in.real(), "a function's work"); break;
        case 17: function.beside_executions = in.varint(); break;
        case 18: function.beside_ns = signed_value(in.varint(), "beside_ns"); break;
        default: break;
      }
    }
    check(in);
    details.issuers_end = scratch_.issuers.size();
    if (kind >= kFunctionKindCount) {
      fail("a function's kind is unknown");
      return details;
    }
    function.kind = static_cast<FunctionKind>(kind);
    if (named) {
      function.name = name(name_index);
    }
    if (__builtin_sub_overflow(function.total_ns, child_ns, &function.self_ns) || function.self_ns < 0) {
      fail("child_ns is out of range");
    }
    if (is_whole() || !is_negligible(function)) read_hardware(function);
    function.step_exposed_us = series(deltas);
    return details;
  }

  void read_hardware(FunctionPattern& function) {
    const Messages& rows = scratch_.hardware;
    if (is_whole()) {
      function.hardware.reserve(rows.size());
      for (const std::string_view row : rows) function.hardware.push_back(hardware(row));
      return;
    }
    if (function.kind != FunctionKind::kCompute || rows.empty()) return;
    ++with_hardware_;
    for (const std::string_view row : rows) {
      if (text_view(metric_of(row)).starts_with("gpu.")) function.hardware.push_back(hardware(row));
    }
  }

  [[nodiscard]] bool is_negligible(double ns) const {
    return ns < kLeastTellingShare * static_cast<double>(pattern_.window_ns);
  }
  [[nodiscard]] bool is_negligible(const FunctionPattern& function) const {
    return is_negligible(static_cast<double>(weight_of(function)));
  }

  void read_rest() {
    std::array<bool, kFunctionKindCount> seen{};
    for (size_t kind = 0; kind < kFunctionKindCount; ++kind) {
      pattern_.rest[kind].kind = static_cast<FunctionKind>(kind);
    }
    for (const std::string_view row : top_.rest) {
      FunctionPattern rest;
      scratch_.issuers.clear();
      const FunctionDetails details = read_function(row, rest, false);
      if (is_whole() || !is_negligible(rest)) read_details(details, rest);
      const auto kind = static_cast<size_t>(rest.kind);
      if (std::exchange(seen[kind], true)) {
        fail("two sums of the functions left out are of one kind");
      }
      pattern_.rest[kind] = std::move(rest);
    }
  }

  void read_signal(std::string_view message) {
    SignalUse use;
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: use.metric = text(in.varint32()); break;
        case 2: use.entity = text(in.varint32()); break;
        case 3: use.unit = text(in.varint32()); break;
        case 4: use.mean = number(in.real(), "a signal's mean"); break;
        case 5: use.deviation = number(in.real(), "a signal's deviation"); break;
        case 6: use.minimum = number(in.real(), "a signal's minimum"); break;
        case 7: use.maximum = number(in.real(), "a signal's maximum"); break;
        case 8: use.covered_ns = from_us(in.varint(), "a signal's covered_us"); break;
        default: break;
      }
    }
    check(in);
    pattern_.signals.push_back(std::move(use));
  }

  void read_group(std::string_view message) {
    GroupPattern& group = pattern_.groups.emplace_back();
    Numbers& first = column(0);
    Numbers& stride = column(1);
    Numbers& count = column(2);
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: group.name = clean(in.bytes()); break;
        case 2: group.desc = clean(in.bytes()); break;
        case 3: in.append_varints(first); break;
        case 4: in.append_varints(stride); break;
        case 5: in.append_varints(count); break;
        case 6: group.size = small_value(in.varint32(), "a group's size"); break;
        default: break;
      }
    }
    check(in);
    if (stride.size() != first.size() || count.size() != first.size()) {
      fail("the columns of a group's ranks differ in length");
      return;
    }
    constexpr uint64_t kMostRank = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < first.size(); ++i) {
      const uint64_t begin = first[i];
      const uint64_t step = stride[i];
      if (count[i] > kMaxGroupRanks - group_ranks_ || begin > kMostRank || step > kMostRank ||
          begin + step * (count[i] - std::min<uint64_t>(count[i], 1)) > kMostRank) {
        fail("a group's ranks are out of range");
        return;
      }
      group_ranks_ += count[i];
      for (uint64_t k = 0; k < count[i]; ++k) {
        group.ranks.push_back(static_cast<int32_t>(begin + step * k));
      }
    }
  }

  void read_collective(std::string_view message) {
    CollectiveSummary& summary = pattern_.collectives.emplace_back();
    std::string_view durations;
    Numbers& deltas = column(2);
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: summary.kind = text(in.varint32()); break;
        case 2: summary.dtype = text(in.varint32()); break;
        case 3: summary.group = in.varint32(); break;
        case 4: summary.count = in.varint(); break;
        case 5: summary.bytes = signed_value(in.varint(), "a collective's bytes"); break;
        case 6: summary.total_ns = signed_value(in.varint(), "a collective's time"); break;
        case 7: summary.exposed_ns = signed_value(in.varint(), "a collective's time"); break;
        case 8: durations = in.bytes(); break;
        case 9:
          if (is_whole()) in.append_varints(deltas);
          break;
        default: break;
      }
    }
    check(in);
    if (summary.group >= pattern_.groups.size()) {
      fail("a collective's group is out of range");
    }
    summary.durations = sketch(durations);
    summary.step_total_us = series(deltas);
  }

  void read_instances() {
    if (!is_whole()) {
      read_peers();
      return;
    }
    Numbers& summaries = column(0);
    Numbers& sequence_deltas = column(1);
    Numbers& position_deltas = column(2);
    Numbers& start_deltas = column(3);
    Numbers& durations = column(4);
    Numbers& bytes = column(5);
    Numbers& peers = column(6);
    uint32_t sampling = 0;
    WireReader in(top_.instances);
    while (in.next()) {
      switch (in.field()) {
        case 1: in.append_varints(summaries); break;
        case 2: in.append_varints(sequence_deltas); break;
        case 3: in.append_varints(position_deltas); break;
        case 4: in.append_varints(start_deltas); break;
        case 5: in.append_varints(durations); break;
        case 6: in.append_varints(bytes); break;
        case 7: in.append_varints(peers); break;
        case 8: sampling = in.varint32(); break;
        case 9: pattern_.instances_seen = in.varint(); break;
        default: break;
      }
    }
    check(in);
    const size_t count = summaries.size();
    set_sampling(sampling, count);
    if (sequence_deltas.size() != count || position_deltas.size() != count || start_deltas.size() != count ||
        durations.size() != count || bytes.size() != count || (!peers.empty() && peers.size() != count)) {
      fail("the columns of instances differ in length");
      return;
    }
    std::vector<std::pair<int64_t, int64_t>> before(pattern_.collectives.size(), {-1, -1});
    pattern_.instances.reserve(count);
    int64_t start = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto summary = static_cast<uint32_t>(summaries[i]);
      if (summary >= before.size()) {
        fail("an instance's summary is out of range");
        return;
      }
      auto& [sequence, position] = before[summary];
      sequence = sum(sequence, sequence_deltas[i]);
      position = sum(position, position_deltas[i]);
      start = sum(start, start_deltas[i]);
      const int32_t peer = peers.empty() ? -1 : static_cast<int32_t>(WireReader::unzigzag(peers[i]));
      if (sequence < -1 || position < 0 || position > std::numeric_limits<uint32_t>::max() || peer < -1) {
        fail("an instance's sequence, position or peer is out of range");
        return;
      }
      pattern_.instances.push_back({summary, sequence, static_cast<uint32_t>(position), start,
                                    signed_value(durations[i], "an instance's duration"),
                                    signed_value(bytes[i], "an instance's bytes"), peer});
    }
  }

  void set_sampling(uint32_t sampling, size_t instances) {
    if (sampling > kMostSampling) {
      fail("the sampling of instances is out of range");
      return;
    }
    pattern_.instance_sampling = sampling;
    if (pattern_.instances_seen < instances) {
      fail("fewer instances were seen than are listed");
    }
  }

  /// An instance for each peer of a summary.
  void read_peers() {
    uint32_t sampling = 0;
    bool told = false;
    WireReader in(top_.instances);
    while (in.next()) {
      switch (in.field()) {
        case 7: told = true; break;
        case 8: sampling = in.varint32(); break;
        case 9: pattern_.instances_seen = in.varint(); break;
        default: break;
      }
    }
    check(in);
    set_sampling(sampling, 0);
    if (!told) return;
    Numbers& summaries = column(0);
    Numbers& peers = column(1);
    in = WireReader(top_.instances);
    while (in.next()) {
      switch (in.field()) {
        case 1: in.append_varints(summaries); break;
        case 7: in.append_varints(peers); break;
        default: break;
      }
    }
    check(in);
    if (!peers.empty() && peers.size() != summaries.size()) {
      fail("the columns of instances differ in length");
      return;
    }
    std::set<std::pair<uint32_t, int32_t>> distinct;
    for (size_t i = 0; i < peers.size(); ++i) {
      const auto summary = static_cast<uint32_t>(summaries[i]);
      const auto peer = static_cast<int32_t>(WireReader::unzigzag(peers[i]));
      if (summary >= pattern_.collectives.size() || peer < -1) {
        fail("an instance's summary or peer is out of range");
        return;
      }
      if (peer >= 0) distinct.emplace(summary, peer);
    }
    for (const auto& [summary, peer] : distinct) pattern_.instances.push_back({.summary = summary, .peer = peer});
  }

  void read_open(std::string_view message) {
    OpenCollective& open = pattern_.end.open.emplace_back();
    open.sequence = 0;  // as all numbers that are not written
    WireReader in(message);
    while (in.next()) {
      switch (in.field()) {
        case 1: open.kind = text(in.varint32()); break;
        case 2: open.group = in.varint32(); break;
        case 3: open.sequence = in.zigzag(); break;
        case 4: open.since_ns = signed_value(in.varint(), "an open collective's start"); break;
        case 5: open.bytes = signed_value(in.varint(), "an open collective's bytes"); break;
        case 6: open.longest_ns = signed_value(in.varint(), "an open collective's longest duration"); break;
        case 7:
          open.begun = (in.varint() & kOpenBegun) != 0;
          open.unusual = (in.varint() & kOpenUnusual) != 0;
          break;
        default: break;
      }
    }
    check(in);
    if (open.group >= pattern_.groups.size() || open.sequence < -1) {
      fail("an open collective's group or sequence is out of range");
    }
  }

  void read_end() {
    WindowEnd& end = pattern_.end;
    WireReader in(top_.end);
    while (in.next()) {
      switch (in.field()) {
        case 1: end.observed_ns = signed_value(in.varint(), "the end of the observation"); break;
        case 2: end.last_event_ns = signed_value(in.varint(), "the last event's end"); break;
        case 3: read_open(in.bytes()); break;
        case 4: end.frame = name(in.varint32()); break;
        case 5: end.line = small_value(in.varint32(), "a line"); break;
        case 6: end.user_frame = name(in.varint32()); break;
        case 7: end.user_line = small_value(in.varint32(), "a line"); break;
        case 8: end.cpu_run = positive_number(in.real(), "cpu_run"); break;
        case 9: end.sampled_ns = signed_value(in.varint(), "the last sample"); break;
        case 10: end.quiet_ns = signed_value(in.varint(), "a quiet time"); break;
        default: break;
      }
    }
    check(in);
  }

  void read_import() {
    read_counts(top_.category_ns, pattern_.category_ns, "category_ns");
    read_counts(top_.category_count, pattern_.category_count, "category_count");
    pattern_.import.events = top_.events;
    pattern_.import.bytes = top_.text_bytes;
    read_counts(top_.defects, pattern_.import.defects.count, "defects");
    for (const std::string_view note : top_.notes) pattern_.import.notes.push_back(clean(note));
  }

  const TopLevel& top_;
  PatternDetail detail_;
  size_t most_functions_;
  Scratch& scratch_;
  RankPattern& pattern_;
  size_t with_hardware_ = 0;  // functions so far
  uint64_t group_ranks_ = 0;  // so far, of all groups
  std::string error_;
};

}  // namespace

struct PatternDecoder::Memory {
  ZstdUnpacker unpacker;
  TopLevel top;
  Scratch scratch;
};

PatternDecoder::PatternDecoder() : memory_(std::make_unique<Memory>()) {}
PatternDecoder::PatternDecoder(PatternDecoder&&) noexcept = default;
PatternDecoder& PatternDecoder::operator=(PatternDecoder&&) noexcept = default;
PatternDecoder::~PatternDecoder() = default;

Result<RankPattern> PatternDecoder::decode(std::string_view bytes, PatternDetail detail) {
  RankPattern pattern;
  if (const Status status = decode(bytes, detail, pattern); !status) return status.error();
  return pattern;
}

Status PatternDecoder::decode(std::string_view bytes, PatternDetail detail, RankPattern& pattern,
                              size_t most_functions) {
  const std::optional<std::string_view> message = memory_->unpacker.unpack(bytes, kMaxPatternMessageBytes);
  TopLevel& top = memory_->top;
  clear(top);
  if (!message || !read_top_level(*message, top) || top.version == 0) {
    return Error{Error::Kind::kInvalid, "damaged, or no pattern"};
  }
  if (top.version > kWireVersion) {
    return Error{Error::Kind::kUnsupported,
                 fmt::format("a pattern of version {}, made by a newer eroica; this one reads up to version {}",
                             top.version, kWireVersion)};
  }
  clear(pattern);
  Decoder decoder(top, detail, most_functions, memory_->scratch, pattern);
  decoder.decode();
  if (!decoder.error().empty()) {
    return Error{Error::Kind::kInvalid, "damaged pattern: " + decoder.error()};
  }
  return ok_status();
}

Result<RankPattern> decode_pattern(std::string_view bytes) { return PatternDecoder().decode(bytes); }

}  // namespace eroica
