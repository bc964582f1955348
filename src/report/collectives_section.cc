#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/robust.h"
#include "report/sections.h"

namespace eroica {
namespace {

/// What makes rows of different ranks one row.
struct Key {
  std::string kind;
  std::string group;
  std::string group_desc;
  std::string dtype;
  auto operator<=>(const Key&) const = default;
};

struct Place {
  const RankView* rank;
  uint32_t summary;
  [[nodiscard]] const CollectiveSummary& pattern() const { return rank->pattern->collectives[summary]; }
};

struct PerStep {
  double count = 0;
  double bytes = 0;
};

bool counted(const RankView& view, int64_t start_ns) {
  return std::ranges::any_of(view.basis.counted, [&](uint32_t i) {
    const StepPattern& step = view.pattern->steps[i];
    return step.start_ns <= start_ns && start_ns < step.start_ns + step.duration_ns;
  });
}

/// Counts the single instances inside the counted steps where all of them are known, else scales the window's sums.
PerStep per_step(const Place& place) {
  const RankView& view = *place.rank;
  const CollectiveSummary& pattern = place.pattern();
  PerStep scaled{static_cast<double>(pattern.count) * view.basis.scale,
                 static_cast<double>(pattern.bytes) * view.basis.scale};
  if (view.basis.per_window || view.pattern->instance_sampling != 0) return scaled;
  PerStep exact;
  uint64_t known = 0;
  for (const CollectiveInstance& instance : view.pattern->instances) {
    if (instance.summary != place.summary) continue;
    ++known;
    if (!counted(view, instance.start_ns)) continue;
    exact.count += 1;
    exact.bytes += static_cast<double>(instance.bytes);
  }
  if (known != pattern.count) return scaled;
  const auto steps = static_cast<double>(view.basis.counted.size());
  return {exact.count / steps, exact.bytes / steps};
}

/// Rates of the single instances in GB/s; where none are known, one mean rate at a low quantile of the durations.
/// What lies outside the counted steps may have been cut by the window, and would seem fast.
void add_rates(const Place& place, std::vector<double>& rates) {
  const size_t before = rates.size();
  for (const CollectiveInstance& instance : place.rank->pattern->instances) {
    if (instance.summary != place.summary || instance.bytes <= 0 || instance.duration_ns <= 0) continue;
    if (!place.rank->basis.per_window && !counted(*place.rank, instance.start_ns)) continue;
    rates.push_back(static_cast<double>(instance.bytes) / static_cast<double>(instance.duration_ns));
  }
  const CollectiveSummary& pattern = place.pattern();
  const int64_t fast_ns = pattern.durations.quantile(0.1);
  if (rates.size() == before && pattern.bytes > 0 && pattern.count > 0 && fast_ns > 0) {
    rates.push_back(static_cast<double>(pattern.bytes) / static_cast<double>(pattern.count) /
                    static_cast<double>(fast_ns));
  }
}

/// By rank and its summary: the collective and the member that it is.
using Joins = std::map<std::pair<int32_t, uint32_t>, std::vector<std::pair<const JoinedCollective*, size_t>>>;

Joins joins_of(std::span<const JoinedCollective> joined) {
  Joins joins;
  for (const JoinedCollective& one : joined) {
    for (size_t i = 0; i < one.members.size(); ++i) {
      joins[{one.members[i].rank, one.members[i].summary}].emplace_back(&one, i);
    }
  }
  return joins;
}

/// What a member of several, such as a sender of messages to two others, was late and waited is the sum. Returns how
/// many of the joined instances it has a step.
double add_joins(const Place& place, const Joins& joins, CollectiveOnRank& on_rank,
                 std::set<const JoinedCollective*>& of_row) {
  double per_step = 0;
  const auto found = joins.find({place.rank->pattern->rank, place.summary});
  if (found == joins.end()) return per_step;
  for (const auto& [one, index] : found->second) {
    of_row.insert(one);
    if (one->joined == 0) continue;
    const JoinedMember& member = one->members[index];
    per_step += member.per_step;
    on_rank.late_ms_per_step = on_rank.late_ms_per_step.value_or(0) + 1e-3 * member.late_us * member.per_step;
    on_rank.wait_ms_per_step = on_rank.wait_ms_per_step.value_or(0) + 1e-3 * member.wait_us * member.per_step;
  }
  return per_step;
}

/// `per_step`: joined instances a step, mean over the ranks.
CollectiveJoin join_of(const std::set<const JoinedCollective*>& of_row, double per_step) {
  CollectiveJoin join;
  if (of_row.empty()) join.why = "who its members are is not told, or they do not wait for each other";
  double transfer_us = 0;
  for (const JoinedCollective* one : of_row) {
    join.of += one->seen;
    join.instances += one->joined;
    transfer_us += one->last_us * static_cast<double>(one->joined);
    join.error_us = std::max(join.error_us, one->error_us);
    join.whole = join.whole && one->whole;
    if (join.why.empty() || join.by == AlignedBy::kNothing) join.why = one->why;
    if (join.by == AlignedBy::kNothing) join.by = one->by;
  }
  if (join.instances > 0) {
    join.transfer_ms_per_step = 1e-3 * transfer_us / static_cast<double>(join.instances) * per_step;
  }
  return join;
}

CollectiveRow collective_row(const Key& key, const std::vector<Place>& places, const Joins& joins) {
  CollectiveRow row;
  row.kind = key.kind;
  row.group = key.group;
  row.group_desc = key.group_desc;
  row.dtype = key.dtype;
  QuantileSketch durations;
  std::vector<double> rates;
  std::set<const JoinedCollective*> joined;
  double joined_per_step = 0;
  for (const Place& place : places) {
    const CollectiveSummary& pattern = place.pattern();
    const StepBasis& basis = place.rank->basis;
    const auto& groups = place.rank->pattern->groups;
    if (pattern.group < groups.size()) row.group_size = std::max(row.group_size, groups[pattern.group].size);
    durations.merge(pattern.durations);
    add_rates(place, rates);
    const PerStep mean = per_step(place);
    const auto ranks = static_cast<double>(places.size());
    row.count_per_step += mean.count / ranks;
    row.bytes_per_step += mean.bytes / ranks;
    const double total_ms = !basis.per_window && !pattern.step_total_us.empty()
                                ? mean_step_ms(basis, pattern.step_total_us)
                                : basis.per_step_ms(pattern.total_ns);
    if (pattern.total_ns > 0) {
      row.exposed_ms_per_step +=
          total_ms * static_cast<double>(pattern.exposed_ns) / static_cast<double>(pattern.total_ns) / ranks;
    }
    row.ranks.push_back({place.rank->pattern->rank, pattern.count, pattern.bytes, total_ms,
                         static_cast<double>(pattern.durations.quantile(0.5)) * 1e-3, std::nullopt, std::nullopt});
    joined_per_step += add_joins(place, joins, row.ranks.back(), joined) / ranks;
  }
  row.joined = join_of(joined, joined_per_step);
  row.duration = duration_quantiles(durations, 0);
  if (!rates.empty()) row.gigabytes_per_s = quantile(rates, 0.9);
  return row;
}

}  // namespace

std::vector<CollectiveRow> collectives_section(std::span<const RankView> ranks,
                                               std::span<const JoinedCollective> joined) {
  const Joins joins = joins_of(joined);
  std::map<Key, std::vector<Place>> by_key;
  for (const RankView& view : ranks) {
    const RankPattern& pattern = *view.pattern;
    for (uint32_t i = 0; i < pattern.collectives.size(); ++i) {
      const CollectiveSummary& summary = pattern.collectives[i];
      const bool known = summary.group < pattern.groups.size();
      by_key[{summary.kind, known ? pattern.groups[summary.group].name : "",
              known ? pattern.groups[summary.group].desc : "", summary.dtype}]
          .push_back({&view, i});
    }
  }
  std::vector<CollectiveRow> rows;
  rows.reserve(by_key.size());
  for (const auto& [key, places] : by_key) rows.push_back(collective_row(key, places, joins));
  std::ranges::stable_sort(rows, [](const CollectiveRow& a, const CollectiveRow& b) {
    return std::tie(b.exposed_ms_per_step, a.kind, a.group) < std::tie(a.exposed_ms_per_step, b.kind, b.group);
  });
  return rows;
}

}  // namespace eroica
