#include "compare/stragglers.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr size_t kLargeSet = 16;
constexpr double kDeviations = 6;
constexpr double kToSigma = 1.4826;
constexpr size_t kLeastOfHalf = 3;  // a slow half may be a little less: down to a third of the ranks
constexpr double kApartFromBoth = 3;

struct Value {
  double value;
  uint32_t rank;
};

Stragglers split(const std::vector<Value>& sorted, size_t lower) {
  std::vector<double> others;
  others.reserve(lower);
  for (size_t i = 0; i < lower; ++i) others.push_back(sorted[i].value);
  const double usual = median(others);
  Stragglers found;
  found.others = lower;
  found.gap = sorted[lower].value - sorted[lower - 1].value;
  double sum = 0;
  for (size_t i = lower; i < sorted.size(); ++i) {
    found.ranks.push_back(sorted[i].rank);
    sum += sorted[i].value - usual;
  }
  found.excess = sum / static_cast<double>(sorted.size() - lower);
  found.spread =
      lower >= kLargeSet ? kToSigma * median_absolute_deviation(others) : sorted[lower - 1].value - sorted[0].value;
  std::sort(found.ranks.begin(), found.ranks.end());
  return found;
}

double deviation(std::vector<Value>::const_iterator first, std::vector<Value>::const_iterator end) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(end - first));
  for (; first != end; ++first) values.push_back(first->value);
  return kToSigma * median_absolute_deviation(values);
}

// Where half of the ranks are slow, as one of two hosts, the median lies between both halves and the deviation from it
// is as large as what separates them.
std::optional<Stragglers> slow_half(const std::vector<Value>& sorted, double least) {
  size_t best = 0;
  double widest = 0;
  for (size_t lower = (sorted.size() + 1) / 2; lower <= sorted.size() - sorted.size() / kLeastOfHalf; ++lower) {
    const double gap = sorted[lower].value - sorted[lower - 1].value;
    if (gap <= widest) continue;
    widest = gap;
    best = lower;
  }
  if (best == 0 || widest < least) return std::nullopt;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(best);
  const double within = std::max(deviation(sorted.begin(), middle), deviation(middle, sorted.end()));
  if (widest < kApartFromBoth * within) return std::nullopt;
  return split(sorted, best);
}

std::optional<Stragglers> outliers_of_many(const std::vector<Value>& sorted, double least) {
  std::vector<double> values;
  values.reserve(sorted.size());
  for (const Value& value : sorted) values.push_back(value.value);
  const double usual = median(values);
  const double bound = usual + std::max(least, kDeviations * kToSigma * median_absolute_deviation(values));
  const auto first = std::find_if(sorted.begin(), sorted.end(), [&](const Value& v) { return v.value > bound; });
  if (first == sorted.end()) return slow_half(sorted, least);
  return split(sorted, static_cast<size_t>(first - sorted.begin()));
}

std::optional<Stragglers> above_widest_gap(const std::vector<Value>& sorted, double least) {
  const size_t count = sorted.size();
  size_t best = 0;
  double widest = 0;
  for (size_t lower = (count + 1) / 2; lower < count; ++lower) {
    const double gap = sorted[lower].value - sorted[lower - 1].value;
    if (gap > widest) {
      widest = gap;
      best = lower;
    }
  }
  if (best == 0 || widest < least) return std::nullopt;
  Stragglers found = split(sorted, best);
  // The range of few values tells little of how far such values may lie apart.
  const double trust = found.others <= 2 ? 3.0 : found.others == 3 ? 1.5 : 1.0;
  if (found.gap < trust * found.spread) return std::nullopt;
  return found;
}

}  // namespace

std::vector<Stragglers> find_stragglers(const Peers& peers, const std::function<double(uint32_t)>& value_of,
                                        double least, size_t most) {
  std::vector<Stragglers> all;
  for (const PeerSet& set : peers.sets) {
    std::vector<Value> values;
    values.reserve(set.ranks.size());
    for (const uint32_t rank : set.ranks) {
      const double value = value_of(rank);
      if (!std::isnan(value)) values.push_back({value, rank});
    }
    std::sort(values.begin(), values.end(),
              [](const Value& a, const Value& b) { return a.value != b.value ? a.value < b.value : a.rank < b.rank; });
    for (size_t round = 0; round < most && values.size() >= 2; ++round) {
      const auto found = values.size() >= kLargeSet ? outliers_of_many(values, least) : above_widest_gap(values, least);
      if (!found) break;
      values.resize(values.size() - found->ranks.size());
      all.push_back(*found);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Stragglers& a, const Stragglers& b) { return a.excess > b.excess; });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace eroica
