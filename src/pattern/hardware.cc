#include "pattern/hardware.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/saturate.h"
#include "trace/samples.h"

namespace eroica {
namespace {

constexpr double kCriticalShare = 0.8;
// Executions that all overlap would each walk over all samples; no more than this many walks are made.
constexpr size_t kMaxOverlap = 64;
// Beyond this a value is noise, and its square could overflow.
constexpr double kLargestValue = 1e30;

/// end − start for start ≤ end, whatever they are.
uint64_t length_ns(int64_t start_ns, int64_t end_ns) {
  return static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(start_ns);
}

uint64_t length_ns(const Interval& interval) { return length_ns(interval.start_ns, interval.end_ns); }

/// A sample with the time that it stands for, clipped to an execution.
struct Piece {
  int64_t start_ns;
  int64_t end_ns;
  double value;

  [[nodiscard]] double length() const { return static_cast<double>(length_ns(start_ns, end_ns)); }
  [[nodiscard]] double use() const { return std::max(value, 0.0) * length(); }
};

/// A series seen as consecutive pieces on the executions' axis; computed from the samples when asked for.
class Pieces {
 public:
  Pieces(const SampleSeries& series, int64_t origin_ns)
      : samples_(series.samples), origin_ns_(origin_ns), rate_(sample_meaning(series.unit) == SampleMeaning::kRate) {}

  [[nodiscard]] size_t size() const { return samples_.size(); }

  /// The pieces that overlap [start, end), clipped to it.
  void overlapping(int64_t start_ns, int64_t end_ns, std::vector<Piece>& into) const {
    into.clear();
    for (size_t i = first_ending_after(start_ns); i < samples_.size(); ++i) {
      const int64_t from_ns = piece_start(i);
      if (from_ns >= end_ns) break;
      const Piece piece{std::max(from_ns, start_ns), std::min(piece_end(i), end_ns), samples_[i].value};
      if (piece.start_ns < piece.end_ns && std::abs(piece.value) <= kLargestValue) {
        into.push_back(piece);
      }
    }
  }

 private:
  [[nodiscard]] int64_t time(size_t i) const { return saturating_add(samples_[i].time_ns, origin_ns_); }

  [[nodiscard]] int64_t piece_start(size_t i) const { return rate_ && i > 0 ? time(i - 1) : time(i); }

  [[nodiscard]] int64_t piece_end(size_t i) const {
    if (rate_) return time(i);
    if (i + 1 < samples_.size()) return time(i + 1);
    if (i == 0) return INT64_MAX;
    const uint64_t before_ns = length_ns(time(i - 1), time(i));
    return saturating_add(time(i), static_cast<int64_t>(std::min<uint64_t>(before_ns, INT64_MAX)));
  }

  [[nodiscard]] size_t first_ending_after(int64_t at_ns) const {
    size_t low = 0;
    size_t high = samples_.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (piece_end(middle) > at_ns) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  std::span<const Sample> samples_;
  int64_t origin_ns_;
  bool rate_;
};

/// Indices of a stretch of pieces, both included.
struct Stretch {
  size_t first;
  size_t last;
};

/// Stretches between runs of more than `longest_zero_run` zeros; they begin and end with a piece that is used.
std::vector<Stretch> busy_stretches(std::span<const Piece> pieces, uint32_t longest_zero_run) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].use() <= 0) continue;
    if (!stretches.empty() && i - stretches.back().last - 1 <= longest_zero_run) {
      stretches.back().last = i;
    } else {
      stretches.push_back({i, i});
    }
  }
  return stretches;
}

Interval critical_part(std::span<const Piece> pieces, uint32_t longest_zero_run) {
  double total = 0;
  for (const Piece& piece : pieces) total += piece.use();
  // A little less, so that the rounding of sums never decides.
  const double wanted = kCriticalShare * total * (1 - 1e-12);

  std::optional<Interval> best;
  for (const Stretch& stretch : busy_stretches(pieces, longest_zero_run)) {
    double use = 0;
    size_t first = stretch.first;
    for (size_t last = stretch.first; last <= stretch.last; ++last) {
      use += pieces[last].use();
      while (use - pieces[first].use() >= wanted && first < last) use -= pieces[first++].use();
      if (use < wanted) continue;
      const Interval found{pieces[first].start_ns, pieces[last].end_ns};
      if (!best || length_ns(found) < length_ns(*best)) best = found;
    }
  }
  return best.value_or(Interval{pieces.front().start_ns, pieces.back().end_ns});
}

/// The executions worth looking at, the longest first; equally long ones by start.
std::vector<Interval> longest_executions(std::span<const Interval> executions) {
  std::vector<Interval> longest;
  longest.reserve(executions.size());
  for (const Interval& execution : executions) {
    if (execution.start_ns < execution.end_ns) longest.push_back(execution);
  }
  const auto longer = [](const Interval& a, const Interval& b) {
    const uint64_t a_ns = length_ns(a);
    const uint64_t b_ns = length_ns(b);
    return a_ns != b_ns ? a_ns > b_ns : a.start_ns < b.start_ns;
  };
  const size_t kept = std::min(longest.size(), kMaxCriticalExecutions);
  std::partial_sort(longest.begin(), longest.begin() + static_cast<ptrdiff_t>(kept), longest.end(), longer);
  longest.resize(kept);
  return longest;
}

std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
  });
  std::vector<Interval> joined;
  for (const Interval& interval : intervals) {
    if (!joined.empty() && interval.start_ns <= joined.back().end_ns) {
      joined.back().end_ns = std::max(joined.back().end_ns, interval.end_ns);
    } else {
      joined.push_back(interval);
    }
  }
  return joined;
}

std::vector<Interval> critical_parts(const Pieces& all, std::span<const Interval> executions,
                                     uint32_t longest_zero_run) {
  std::vector<Interval> critical;
  std::vector<Piece> pieces;
  size_t steps_left = kMaxOverlap * (all.size() + executions.size());
  for (const Interval& execution : longest_executions(executions)) {
    all.overlapping(execution.start_ns, execution.end_ns, pieces);
    if (pieces.size() > steps_left) break;
    steps_left -= pieces.size();
    if (!pieces.empty()) critical.push_back(critical_part(pieces, longest_zero_run));
  }
  return union_of(std::move(critical));
}

struct Spread {
  double mean = 0;
  double deviation = 0;
  int64_t covered_ns = 0;
};

/// Of disjoint pieces, weighing each by its length.
Spread spread_of(std::span<const Piece> pieces) {
  double time = 0;
  double weighted = 0;
  uint64_t covered_ns = 0;
  for (const Piece& piece : pieces) {
    time += piece.length();
    weighted += piece.length() * piece.value;
    covered_ns += length_ns(piece.start_ns, piece.end_ns);  // disjoint, so it cannot overflow
  }
  Spread spread;
  spread.covered_ns = static_cast<int64_t>(std::min<uint64_t>(covered_ns, INT64_MAX));
  if (time <= 0) return spread;
  spread.mean = weighted / time;

  double squares = 0;
  for (const Piece& piece : pieces) {
    squares += piece.length() * (piece.value - spread.mean) * (piece.value - spread.mean);
  }
  spread.deviation = std::sqrt(squares / time);
  return spread;
}

/// `text` without `prefix`, if it has it.
std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// N of Kineto's "GPU N Counters".
std::optional<int64_t> kineto_gpu(std::string_view entity) {
  constexpr std::string_view kSuffix = " Counters";
  const std::optional<std::string_view> rest = after(entity, "GPU ");
  if (!rest || !rest->ends_with(kSuffix)) return std::nullopt;
  return whole_number(rest->substr(0, rest->size() - kSuffix.size()));
}

/// Is `entity` `owner` itself or a part of it?
bool belongs_to(std::string_view entity, std::string_view owner) {
  const std::optional<std::string_view> rest = after(entity, owner);
  return rest && (rest->empty() || rest->front() == '/');
}

class Relevance {
 public:
  Relevance(const SampleSet& samples, int32_t rank, const std::string& host, const std::string& machine, int32_t gpu)
      : rank_("rank " + std::to_string(rank)),
        host_(host.empty() ? "" : "host " + host),
        machine_(machine.empty() ? "" : "host " + machine),
        gpu_(gpu),
        kineto_gpu_(gpu) {
    std::optional<int64_t> only;
    for (const SampleSeries& series : samples.series) {
      const std::optional<int64_t> number = kineto_gpu(series.entity);
      if (!number || number == only) continue;
      if (only) return;
      only = number;
    }
    kineto_gpu_ = only.value_or(-1);
  }

  [[nodiscard]] bool holds(std::string_view entity) const {
    if (belongs_to(entity, rank_)) return true;
    if (const std::optional<int64_t> number = kineto_gpu(entity)) return *number == kineto_gpu_;
    return holds_of_host(entity, host_, true) || holds_of_host(entity, machine_, false);
  }

 private:
  [[nodiscard]] bool holds_of_host(std::string_view entity, std::string_view host, bool numbers_gpus) const {
    if (host.empty() || !belongs_to(entity, host)) return false;
    const std::optional<std::string_view> gpu = after(entity.substr(host.size()), "/gpu ");
    if (!gpu) return true;
    return numbers_gpus && gpu_ >= 0 && whole_number(*gpu) == gpu_;
  }

  std::string rank_;
  std::string host_;
  std::string machine_;
  int64_t gpu_;
  int64_t kineto_gpu_;
};

}  // namespace

std::vector<const SampleSeries*> relevant_series(const SampleSet& samples, int32_t rank, const std::string& host,
                                                 const std::string& machine, int32_t gpu) {
  const Relevance relevance(samples, rank, host, machine, gpu);
  std::vector<const SampleSeries*> relevant;
  for (const SampleSeries& series : samples.series) {
    if (relevance.holds(series.entity)) relevant.push_back(&series);
  }
  return relevant;
}

SignalUse signal_use(const SampleSeries& series, int64_t series_origin_ns, int64_t window_ns) {
  SignalUse use{.metric = series.metric, .entity = series.entity, .unit = series.unit};
  std::vector<Piece> pieces;
  Pieces(series, series_origin_ns).overlapping(0, window_ns, pieces);
  if (pieces.empty()) return use;
  const Spread spread = spread_of(pieces);
  use.mean = spread.mean;
  use.deviation = spread.deviation;
  use.covered_ns = spread.covered_ns;
  const auto [least, most] = std::ranges::minmax_element(pieces, {}, &Piece::value);
  use.minimum = least->value;
  use.maximum = most->value;
  return use;
}

HardwareUse hardware_use(const SampleSeries& series, int64_t series_origin_ns, std::span<const Interval> executions,
                         uint32_t longest_zero_run) {
  HardwareUse use{.metric = series.metric, .entity = series.entity, .unit = series.unit};
  const Pieces all(series, series_origin_ns);

  std::vector<Piece> critical;
  std::vector<Piece> pieces;
  for (const Interval& part : critical_parts(all, executions, longest_zero_run)) {
    all.overlapping(part.start_ns, part.end_ns, pieces);
    critical.insert(critical.end(), pieces.begin(), pieces.end());
  }

  const Spread spread = spread_of(critical);
  use.mean = spread.mean;
  use.deviation = spread.deviation;
  use.covered_ns = spread.covered_ns;
  return use;
}

}  // namespace eroica
