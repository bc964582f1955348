#include "pattern/instance_sampling.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

#include <fmt/core.h>

#include "base/hash.h"

namespace eroica {
namespace {

constexpr uint32_t kMostBits = 63;

uint64_t group_hash(const GroupPattern& group) {
  if (!group.ranks.empty()) {
    return hash_bytes({reinterpret_cast<const char*>(group.ranks.data()), group.ranks.size() * sizeof(int32_t)});
  }
  return hash_bytes(fmt::format("{}\n{}\n{}", group.name, group.desc, group.size));
}

bool earlier(const CollectiveInstance& a, const CollectiveInstance& b) {
  const auto key = [](const CollectiveInstance& i) {
    return std::make_tuple(i.start_ns, i.summary, i.sequence, i.position, i.duration_ns, i.bytes, i.peer);
  };
  return key(a) < key(b);
}

/// From which k on an instance is left out: how many low bits of its hash are zero; of an instance without a sequence
/// number, how often the count of all may be halved before its position is past the end.
class Endurance {
 public:
  Endurance(const RankPattern& pattern, std::span<const GroupPattern> groups) : pattern_(pattern) {
    for (const GroupPattern& group : groups) {
      group_hashes_.push_back(group_hash(group));
    }
    for (const CollectiveInstance& instance : pattern.instances) {
      if (instance.sequence < 0) {
        positions_ = std::max<uint64_t>(positions_, uint64_t{instance.position} + 1);
      }
    }
  }

  [[nodiscard]] uint32_t of(const CollectiveInstance& instance) const {
    if (instance.sequence >= 0) {
      const uint32_t summary = instance.summary;
      const uint32_t group = summary < pattern_.collectives.size() ? pattern_.collectives[summary].group : 0;
      const uint64_t hash = group < group_hashes_.size() ? group_hashes_[group] : 0;
      const uint64_t mixed = hash_combine(hash, static_cast<uint64_t>(instance.sequence));
      return std::min(static_cast<uint32_t>(std::countr_zero(mixed)), kMostBits);
    }
    uint32_t halvings = 0;
    while (halvings < kMostBits && instance.position < (positions_ >> (halvings + 1))) {
      ++halvings;
    }
    return pattern_.instance_sampling + halvings;
  }

 private:
  const RankPattern& pattern_;
  std::vector<uint64_t> group_hashes_;
  uint64_t positions_ = 0;
};

}  // namespace

std::vector<RankRun> rank_runs(std::span<const int32_t> ranks) {
  std::vector<RankRun> runs;
  for (const int32_t rank : ranks) {
    if (!runs.empty()) {
      RankRun& run = runs.back();
      const int64_t next = run.first + int64_t{run.stride} * run.count;
      if (run.count == 1 && rank > run.first) {
        run.stride = rank - run.first;
        run.count = 2;
        continue;
      }
      if (run.count > 1 && rank == next) {
        ++run.count;
        continue;
      }
    }
    runs.push_back({rank, 0, 1});
  }
  return runs;
}

uint64_t instance_hash(const GroupPattern& group, int64_t sequence) {
  return hash_combine(group_hash(group), static_cast<uint64_t>(sequence));
}

InstanceSample thin_instances(const RankPattern& pattern, std::span<const GroupPattern> groups, size_t limit) {
  InstanceSample sample;
  sample.sampling = std::min(pattern.instance_sampling, kMostBits);
  if (pattern.instances.size() <= limit) {
    sample.instances = pattern.instances;
  } else {
    const Endurance endurance(pattern, groups);
    std::vector<uint32_t> lasts;
    std::vector<size_t> count(2 * kMostBits + 2, 0);
    lasts.reserve(pattern.instances.size());
    for (const CollectiveInstance& instance : pattern.instances) {
      lasts.push_back(endurance.of(instance));
      ++count[lasts.back()];
    }
    size_t left = pattern.instances.size();
    for (uint32_t k = 0; k < sample.sampling; ++k) {
      left -= count[k];
    }
    while (left > limit && sample.sampling < kMostBits) {
      left -= count[sample.sampling++];
    }
    for (size_t i = 0; i < lasts.size(); ++i) {
      if (left <= limit && lasts[i] >= sample.sampling) {
        sample.instances.push_back(pattern.instances[i]);
      }
    }
  }
  std::sort(sample.instances.begin(), sample.instances.end(), earlier);
  return sample;
}

}  // namespace eroica
