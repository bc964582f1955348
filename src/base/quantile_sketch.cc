#include "base/quantile_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/saturate.h"

namespace eroica {
namespace {

constexpr uint64_t kSubBuckets = uint64_t{1} << QuantileSketch::kSubBits;

using Bucket = std::pair<uint16_t, uint64_t>;

/// What joining two neighbours costs: the counts that move, how far, relative to the mass at and above them. The last
/// makes a join dear at the upper end, where few counts are left.
double join_cost(const Bucket& low, const Bucket& high, uint64_t count_from_high) {
  const auto moved = static_cast<double>(std::min(low.second, high.second));
  const auto distance = static_cast<double>(high.first - low.first);
  return moved * distance / static_cast<double>(count_from_high);
}

}  // namespace

uint16_t QuantileSketch::bucket_of(int64_t value) {
  if (value < 0) {
    return 0;
  }
  const auto unsigned_value = static_cast<uint64_t>(value);
  if (unsigned_value < kSubBuckets) {
    return static_cast<uint16_t>(unsigned_value);
  }
  const int shift = static_cast<int>(std::bit_width(unsigned_value)) - 1 - kSubBits;
  return static_cast<uint16_t>((static_cast<uint64_t>(shift) << kSubBits) + (unsigned_value >> shift));
}

int64_t QuantileSketch::bucket_low(uint16_t bucket) {
  const uint16_t known = std::min(bucket, kMaxBucket);
  if (known < kSubBuckets) {
    return known;
  }
  const int shift = (known >> kSubBits) - 1;
  const uint64_t mantissa = kSubBuckets + (known & (kSubBuckets - 1));
  return static_cast<int64_t>(mantissa << shift);
}

int64_t QuantileSketch::bucket_middle(uint16_t bucket) {
  const uint16_t known = std::min(bucket, kMaxBucket);
  const int shift = known < kSubBuckets ? 0 : (known >> kSubBits) - 1;
  return bucket_low(known) + ((int64_t{1} << shift) >> 1);
}

void QuantileSketch::add(int64_t value, Places& places) {
  const uint16_t bucket = bucket_of(value);
  uint8_t& place = places[bucket % std::tuple_size_v<Places>];
  if (place < buckets_.size() && buckets_[place].first == bucket) {
    count_ = saturating_add(count_, uint64_t{1});
    buckets_[place].second = saturating_add(buckets_[place].second, uint64_t{1});
  } else {
    place = static_cast<uint8_t>(add_to(bucket, 1));
  }
}

// Returns where the bucket stands.
size_t QuantileSketch::add_to(uint16_t bucket, uint64_t count) {
  auto at = std::lower_bound(buckets_.begin(), buckets_.end(), bucket,
                             [](const Bucket& entry, uint16_t wanted) { return entry.first < wanted; });
  if (count > 0) {
    count_ = saturating_add(count_, count);
    if (at == buckets_.end() || at->first != bucket) {
      at = buckets_.insert(at, {bucket, 0});
    }
    at->second = saturating_add(at->second, count);
  }
  return static_cast<size_t>(at - buckets_.begin());
}

void QuantileSketch::merge(const QuantileSketch& other) {
  std::vector<Bucket> merged;
  merged.reserve(buckets_.size() + other.buckets_.size());
  auto mine = buckets_.begin();
  auto theirs = other.buckets_.begin();
  while (mine != buckets_.end() || theirs != other.buckets_.end()) {
    if (theirs == other.buckets_.end() || (mine != buckets_.end() && mine->first < theirs->first)) {
      merged.push_back(*mine++);
    } else if (mine == buckets_.end() || theirs->first < mine->first) {
      merged.push_back(*theirs++);
    } else {
      merged.emplace_back(mine->first, saturating_add(mine->second, theirs->second));
      ++mine;
      ++theirs;
    }
  }
  buckets_ = std::move(merged);
  count_ = saturating_add(count_, other.count_);
}

int64_t QuantileSketch::quantile(double q) const {
  if (buckets_.empty()) {
    return 0;
  }
  const double clamped = q > 0 ? std::min(q, 1.0) : 0.0;  // NaN counts as 0
  const double rank = std::max(1.0, std::ceil(clamped * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen = saturating_add(seen, count);
    if (static_cast<double>(seen) >= rank) {
      return bucket_middle(bucket);
    }
  }
  return bucket_middle(buckets_.back().first);
}

void QuantileSketch::compact(size_t buckets) {
  const size_t keep = std::max<size_t>(buckets, 1);
  while (buckets_.size() > keep) {
    uint64_t count_from_high = buckets_.back().second;
    size_t cheapest = buckets_.size() - 2;
    double cost = join_cost(buckets_[cheapest], buckets_.back(), count_from_high);
    for (size_t low = cheapest; low-- > 0;) {
      count_from_high = saturating_add(count_from_high, buckets_[low + 1].second);
      const double here = join_cost(buckets_[low], buckets_[low + 1], count_from_high);
      if (here <= cost) {
        cost = here;
        cheapest = low;
      }
    }
    // The heavier one's place is kept: most executions stay where they were measured.
    Bucket& low = buckets_[cheapest];
    const Bucket& high = buckets_[cheapest + 1];
    low = {low.second > high.second ? low.first : high.first, saturating_add(low.second, high.second)};
    buckets_.erase(buckets_.begin() + static_cast<std::ptrdiff_t>(cheapest) + 1);
  }
}

QuantileSketch QuantileSketch::from_buckets(std::vector<Bucket> buckets) {
  if (!std::is_sorted(buckets.begin(), buckets.end())) {
    std::sort(buckets.begin(), buckets.end());
  }
  QuantileSketch sketch;
  auto end = buckets.begin();  // of what is kept, in place
  for (const auto& [bucket, count] : buckets) {
    if (count == 0) {
      continue;
    }
    const uint16_t known = std::min(bucket, kMaxBucket);
    if (end != buckets.begin() && std::prev(end)->first == known) {
      std::prev(end)->second = saturating_add(std::prev(end)->second, count);
    } else {
      *end++ = {known, count};
    }
    sketch.count_ = saturating_add(sketch.count_, count);
  }
  buckets.erase(end, buckets.end());
  sketch.buckets_ = std::move(buckets);
  return sketch;
}

}  // namespace eroica
