#include "compare/clock_alignment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kMostEnds = 1024;     // of one key that are looked at: lags cost their square
constexpr size_t kMostKeys = 64;       // that are tried
constexpr size_t kLeastIntervals = 8;  // that must overlap
constexpr double kLeastCorrelation = 0.5;
constexpr double kMostOfSecond = 0.6;  // the spread at the right lag, against that at any other

using Ends = std::vector<int64_t>;
using EndsByKey = std::map<uint64_t, Ends>;

/// The numbered ends; those whose number came twice are of no use.
std::map<std::pair<uint64_t, int64_t>, std::optional<int64_t>> by_sequence(std::span<const CollectiveEnd> ends) {
  std::map<std::pair<uint64_t, int64_t>, std::optional<int64_t>> result;
  for (const CollectiveEnd& end : ends) {
    if (end.sequence < 0) continue;
    const auto [found, is_new] = result.try_emplace({end.key, end.sequence}, end.end_ns);
    if (!is_new) found->second.reset();
  }
  return result;
}

/// Differences as unsigned arithmetic gives them: clocks may be absurd, but nothing overflows.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

int64_t middle(std::vector<int64_t> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, at);
  return *at;
}

/// Offset and spread from the differences of matched ends.
void take_differences(const std::vector<int64_t>& differences, ClockAlignment& result) {
  result.matched = differences.size();
  result.offset_ns = middle(differences);
  std::vector<int64_t> deviations;
  deviations.reserve(differences.size());
  for (const int64_t value : differences) {
    const int64_t deviation = difference(value, result.offset_ns);
    deviations.push_back(deviation < 0 ? difference(0, deviation) : deviation);
  }
  const auto most = deviations.begin() + static_cast<std::ptrdiff_t>(deviations.size() * 9 / 10);
  std::ranges::nth_element(deviations, most);
  result.spread_ns = *most;
}

EndsByKey sorted_ends(std::span<const CollectiveEnd> ends) {
  EndsByKey result;
  for (const CollectiveEnd& end : ends) result[end.key].push_back(end.end_ns);
  for (auto& [key, of_key] : result) {
    std::ranges::sort(of_key);
    if (of_key.size() > kMostEnds) of_key.resize(kMostEnds);
  }
  return result;
}

std::vector<double> intervals(const Ends& ends) {
  std::vector<double> result;
  for (size_t i = 1; i < ends.size(); ++i) result.push_back(static_cast<double>(difference(ends[i], ends[i - 1])));
  return result;
}

/// Pearson's correlation of a[i] with b[i + lag] over all i that both have; 0 where either is constant.
double correlation(std::span<const double> a, std::span<const double> b, std::ptrdiff_t lag) {
  const auto size_a = static_cast<std::ptrdiff_t>(a.size());
  const auto size_b = static_cast<std::ptrdiff_t>(b.size());
  const std::ptrdiff_t from = std::max<std::ptrdiff_t>(0, -lag);
  const std::ptrdiff_t to = std::min(size_a, size_b - lag);
  const auto count = static_cast<double>(to - from);
  if (to <= from) return 0;
  double sum_a = 0;
  double sum_b = 0;
  for (std::ptrdiff_t i = from; i < to; ++i) {
    sum_a += a[static_cast<size_t>(i)];
    sum_b += b[static_cast<size_t>(i + lag)];
  }
  const double mean_a = sum_a / count;
  const double mean_b = sum_b / count;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::ptrdiff_t i = from; i < to; ++i) {
    const double da = a[static_cast<size_t>(i)] - mean_a;
    const double db = b[static_cast<size_t>(i + lag)] - mean_b;
    ab += da * db;
    aa += da * da;
    bb += db * db;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

/// The differences of the ends matched at a lag.
void match(const Ends& reference, const Ends& other, std::ptrdiff_t lag, std::vector<int64_t>& differences) {
  differences.clear();
  const auto from = std::max<std::ptrdiff_t>(0, -lag);
  const auto to =
      std::min(static_cast<std::ptrdiff_t>(reference.size()), static_cast<std::ptrdiff_t>(other.size()) - lag);
  for (std::ptrdiff_t i = from; i < to; ++i) {
    differences.push_back(difference(reference[static_cast<size_t>(i)], other[static_cast<size_t>(i + lag)]));
  }
}

/// The standard deviation of the differences. Small at the right lag only: elsewhere other steps are compared, whose
/// lengths differ, and the rare long ones do not meet.
double spread_of(const std::vector<int64_t>& differences) {
  double sum = 0;
  double squares = 0;
  for (const int64_t value : differences) {
    const auto from_first = static_cast<double>(difference(value, differences.front()));
    sum += from_first;
    squares += from_first * from_first;
  }
  const auto count = static_cast<double>(differences.size());
  const double mean = sum / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

struct Lag {
  std::ptrdiff_t lag = 0;
  double spread = 0;
  double second = 0;  ///< the least spread of all other lags
  double correlation = 0;

  [[nodiscard]] double ratio() const { return second > 0 ? spread / second : 1; }
  [[nodiscard]] bool sure() const { return correlation >= kLeastCorrelation && ratio() <= kMostOfSecond; }
};

std::optional<Lag> best_lag(const Ends& reference, const Ends& other) {
  const size_t shorter = std::min(reference.size(), other.size());
  const auto least = static_cast<std::ptrdiff_t>(std::max(kLeastIntervals + 1, (shorter + 1) / 2));
  if (static_cast<std::ptrdiff_t>(shorter) < least) return std::nullopt;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Lag best{.spread = kInfinite, .second = kInfinite};
  std::vector<int64_t> differences;
  for (std::ptrdiff_t lag = least - static_cast<std::ptrdiff_t>(reference.size());
       lag <= static_cast<std::ptrdiff_t>(other.size()) - least; ++lag) {
    match(reference, other, lag, differences);
    const double spread = spread_of(differences);
    if (spread < best.spread) {
      best = {.lag = lag, .spread = spread, .second = best.spread};
    } else {
      best.second = std::min(best.second, spread);
    }
  }
  best.correlation = correlation(intervals(reference), intervals(other), best.lag);
  return best;
}

/// The keys with most ends first, so that the bound on keys drops those that say least.
std::vector<uint64_t> common_keys(const EndsByKey& reference, const EndsByKey& other) {
  std::vector<std::pair<size_t, uint64_t>> keys;
  for (const auto& [key, ends] : reference) {
    const auto found = other.find(key);
    if (found != other.end()) keys.emplace_back(std::min(ends.size(), found->second.size()), key);
  }
  std::ranges::sort(keys, std::greater<>());
  std::vector<uint64_t> result;
  for (size_t i = 0; i < std::min(keys.size(), kMostKeys); ++i) result.push_back(keys[i].second);
  return result;
}

ClockAlignment by_intervals(std::span<const CollectiveEnd> reference, std::span<const CollectiveEnd> other) {
  const EndsByKey of_reference = sorted_ends(reference);
  const EndsByKey of_other = sorted_ends(other);
  const std::vector<uint64_t> keys = common_keys(of_reference, of_other);
  ClockAlignment result;
  std::optional<Lag> best;
  uint64_t best_key = 0;
  for (const uint64_t key : keys) {
    const std::optional<Lag> lag = best_lag(of_reference.at(key), of_other.at(key));
    if (!lag) continue;
    const bool better =
        !best || lag->sure() > best->sure() || (lag->sure() == best->sure() && lag->ratio() < best->ratio());
    if (better) {
      best = lag;
      best_key = key;
    }
  }
  if (best && best->sure()) {
    std::vector<int64_t> differences;
    match(of_reference.at(best_key), of_other.at(best_key), best->lag, differences);
    result.by = AlignedBy::kIntervals;
    result.correlation = best->correlation;
    take_differences(differences, result);
    result.why = fmt::format("{} collectives matched by the intervals between their ends (correlation {:.2f})",
                             result.matched, best->correlation);
  } else if (best) {
    result.why = fmt::format("the intervals between collectives fit nowhere clearly (correlation {:.2f} at best)",
                             best->correlation);
  } else if (keys.empty()) {
    result.why = "it shares no barrier-like collective with the reference";
  } else {
    result.why = "too few collectives without sequence numbers to compare their intervals";
  }
  return result;
}

}  // namespace

std::string_view aligned_by_name(AlignedBy by) {
  switch (by) {
    case AlignedBy::kSequence:
      return "sequence";
    case AlignedBy::kIntervals:
      return "intervals";
    case AlignedBy::kNothing:
      break;
  }
  return "nothing";
}

ClockAlignment align_clocks(std::span<const CollectiveEnd> reference, std::span<const CollectiveEnd> other) {
  const auto of_reference = by_sequence(reference);
  std::vector<int64_t> differences;
  for (const auto& [id, end_ns] : by_sequence(other)) {
    const auto found = of_reference.find(id);
    if (end_ns && found != of_reference.end() && found->second) {
      differences.push_back(difference(*found->second, *end_ns));
    }
  }
  if (differences.empty()) return by_intervals(reference, other);
  ClockAlignment result;
  result.by = AlignedBy::kSequence;
  take_differences(differences, result);
  result.why = fmt::format("{} collectives matched by their sequence numbers", result.matched);
  return result;
}

}  // namespace eroica
