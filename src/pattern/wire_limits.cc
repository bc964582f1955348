#include "pattern/wire_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/saturate.h"
#include "pattern/instance_sampling.h"
#include "pattern/signals.h"
#include "pattern/text.h"

namespace eroica {
namespace {

constexpr std::string_view kOther = "(other)";

void add_series(std::vector<uint32_t>& sums, const std::vector<uint32_t>& more) {
  sums.resize(std::max(sums.size(), more.size()));
  for (size_t i = 0; i < more.size(); ++i) {
    const uint32_t sum = sums[i] + more[i];
    sums[i] = sum < more[i] ? std::numeric_limits<uint32_t>::max() : sum;
  }
}

/// One value a step, or none.
void fit_series(std::vector<uint32_t>& series, size_t steps) {
  if (!series.empty()) {
    series.resize(steps);
  }
}

int64_t importance(const FunctionPattern& function) { return std::max(function.exposed_ns, function.self_ns); }

// Ties are settled by the name, so that the order of the input does not matter.
bool more_important(const FunctionPattern* a, const FunctionPattern* b) {
  return std::make_tuple(importance(*b), b->total_ns, a->name) < std::make_tuple(importance(*a), a->total_ns, b->name);
}

bool stands_before(const FunctionPattern& a, const FunctionPattern& b) {
  return std::make_tuple(b.exposed_ns, b.total_ns, a.name) < std::make_tuple(a.exposed_ns, a.total_ns, b.name);
}

void add_to_rest(FunctionPattern& rest, const FunctionPattern& function) {
  rest.executions = saturating_add(rest.executions, function.executions);
  rest.total_ns = saturating_add(rest.total_ns, function.total_ns);
  rest.self_ns = saturating_add(rest.self_ns, function.self_ns);
  rest.exposed_ns = saturating_add(rest.exposed_ns, function.exposed_ns);
  rest.bytes = saturating_add(rest.bytes, function.bytes);
  rest.work += function.work;
  rest.beside_executions = saturating_add(rest.beside_executions, function.beside_executions);
  rest.beside_ns = saturating_add(rest.beside_ns, function.beside_ns);
  rest.longest_ns = std::max(rest.longest_ns, function.longest_ns);
  rest.durations.merge(function.durations);
}

FunctionPattern kept_function(const FunctionPattern& function, size_t place, size_t steps, const WireLimits& limits) {
  FunctionPattern kept;
  kept.name = function.name;
  kept.kind = function.kind;
  kept.line = function.line;
  kept.executions = function.executions;
  kept.total_ns = function.total_ns;
  kept.self_ns = function.self_ns;
  kept.exposed_ns = function.exposed_ns;
  kept.longest_ns = function.longest_ns;
  kept.bytes = function.bytes;
  kept.shape = function.shape;
  kept.shapes = function.shapes;
  kept.work = function.work;
  kept.beside_executions = function.beside_executions;
  kept.beside_ns = function.beside_ns;
  kept.durations = function.durations;
  kept.durations.compact(place < limits.fine_sketches ? limits.sketch_buckets : limits.sketch_buckets / 3);
  if (place < limits.with_series) {
    kept.step_exposed_us = function.step_exposed_us;
    fit_series(kept.step_exposed_us, steps);
  }
  if (place < limits.with_hardware) {
    kept.issuers = function.issuers;
    kept.issuers.resize(std::min(kept.issuers.size(), kMaxIssuers));
    kept.hardware = function.hardware;
    kept.hardware.resize(std::min(kept.hardware.size(), kMaxHardware));
    for (HardwareUse& use : kept.hardware) {
      use.metric = clean_text(use.metric, kMaxWordBytes);
      use.entity = clean_text(use.entity, kMaxIdentityBytes);
      use.unit = clean_text(use.unit, kMaxWordBytes);
    }
  }
  return kept;
}

void reduce_functions(const RankPattern& from, const WireLimits& limits, RankPattern& to) {
  std::vector<const FunctionPattern*> ranked;
  ranked.reserve(from.functions.size());
  for (const FunctionPattern& function : from.functions) {
    ranked.push_back(&function);
  }
  std::stable_sort(ranked.begin(), ranked.end(), more_important);
  for (size_t kind = 0; kind < kFunctionKindCount; ++kind) {
    to.rest[kind].kind = static_cast<FunctionKind>(kind);
    add_to_rest(to.rest[kind], from.rest[kind]);
  }
  for (size_t place = 0; place < ranked.size(); ++place) {
    if (place < limits.functions) {
      to.functions.push_back(kept_function(*ranked[place], place, to.steps.size(), limits));
    } else {
      add_to_rest(to.rest[static_cast<size_t>(ranked[place]->kind)], *ranked[place]);
    }
  }
  for (FunctionPattern& rest : to.rest) {
    rest.durations.compact(limits.sketch_buckets);
  }
  std::stable_sort(to.functions.begin(), to.functions.end(), stands_before);
}

/// Groups keep their index; the last one that is allowed stands for all from there on. A list of ranks that makes no
/// sense or would take too much room is dropped; its length is kept.
std::vector<GroupPattern> reduce_groups(const RankPattern& from, size_t limit) {
  std::vector<GroupPattern> groups;
  size_t ranks_left = kMaxGroupRanks;
  for (const GroupPattern& group : from.groups) {
    if (groups.size() + 1 == limit && from.groups.size() > limit) {
      groups.push_back({std::string(kOther), "", {}, -1});
      break;
    }
    GroupPattern kept{clean_text(group.name, kMaxIdentityBytes),
                      clean_text(group.desc, kMaxIdentityBytes),
                      {},
                      std::max(group.size, -1)};
    const bool valid = std::all_of(group.ranks.begin(), group.ranks.end(), [](int32_t rank) { return rank >= 0; });
    if (valid && group.ranks.size() <= ranks_left && rank_runs(group.ranks).size() <= kMaxGroupRuns) {
      kept.ranks = group.ranks;
      ranks_left -= group.ranks.size();
    } else if (kept.size < 0) {
      kept.size = static_cast<int32_t>(std::min<size_t>(group.ranks.size(), std::numeric_limits<int32_t>::max()));
    }
    groups.push_back(std::move(kept));
  }
  if (groups.empty() && !from.collectives.empty()) {
    groups.push_back({std::string(kOther), "", {}, -1});
  }
  return groups;
}

void add_to_collective(CollectiveSummary& sum, const CollectiveSummary& more) {
  sum.count = saturating_add(sum.count, more.count);
  sum.bytes = saturating_add(sum.bytes, more.bytes);
  sum.total_ns = saturating_add(sum.total_ns, more.total_ns);
  sum.exposed_ns = saturating_add(sum.exposed_ns, more.exposed_ns);
  sum.durations.merge(more.durations);
  add_series(sum.step_total_us, more.step_total_us);
}

/// The summaries of most time keep a row of their own, in their old order; one row behind them sums up the others.
/// Returns for each old index the new one, or none where the summary lost its row.
std::vector<size_t> reduce_collectives(const RankPattern& from, const WireLimits& limits, RankPattern& to) {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> order(from.collectives.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return from.collectives[a].total_ns > from.collectives[b].total_ns; });
  const bool all = order.size() <= limits.collectives;
  const size_t kept_rows = all ? order.size() : limits.collectives - 1;
  std::vector<size_t> moved(order.size(), kNone);
  std::vector<bool> keeps(order.size(), false);
  for (size_t place = 0; place < kept_rows; ++place) {
    keeps[order[place]] = true;
  }
  const auto last_group = static_cast<uint32_t>(to.groups.empty() ? 0 : to.groups.size() - 1);
  CollectiveSummary other;
  other.kind = kOther;
  other.group = last_group;
  for (size_t i = 0; i < from.collectives.size(); ++i) {
    if (!keeps[i]) {
      add_to_collective(other, from.collectives[i]);
      continue;
    }
    moved[i] = to.collectives.size();
    to.collectives.push_back(from.collectives[i]);
    CollectiveSummary& kept = to.collectives.back();
    kept.group = std::min(kept.group, last_group);
    kept.kind = clean_text(kept.kind, kMaxWordBytes);
    kept.dtype = clean_text(kept.dtype, kMaxWordBytes);
  }
  if (!all) {
    to.collectives.push_back(std::move(other));
  }
  for (CollectiveSummary& kept : to.collectives) {
    kept.durations.compact(limits.sketch_buckets);
    fit_series(kept.step_total_us, to.steps.size());
  }
  return moved;
}

void reduce_instances(const RankPattern& from, const std::vector<size_t>& moved, const WireLimits& limits,
                      RankPattern& to) {
  to.instances_seen = std::max<uint64_t>(from.instances_seen, from.instances.size());
  // By the groups as every wire form knows them: else ranks that had to drop more would choose other instances.
  const std::vector<GroupPattern> groups = reduce_groups(from, wire_limits().front().groups);
  InstanceSample sample = thin_instances(from, groups, limits.instances);
  to.instance_sampling = sample.sampling;
  for (CollectiveInstance& instance : sample.instances) {
    if (instance.summary < moved.size() && moved[instance.summary] < to.collectives.size()) {
      instance.summary = static_cast<uint32_t>(moved[instance.summary]);
      to.instances.push_back(instance);
    }
  }
}

void reduce_steps(const RankPattern& from, const WireLimits& limits, RankPattern& to) {
  to.step_note = from.step_note;
  const size_t count = std::min(from.steps.size(), limits.steps);
  to.steps.assign(from.steps.begin(), from.steps.begin() + static_cast<std::ptrdiff_t>(count));
  if (count < from.steps.size()) {
    to.step_note +=
        fmt::format("{}the first {} of {} steps are kept", to.step_note.empty() ? "" : "; ", count, from.steps.size());
  }
  to.step_note = clean_text(to.step_note, kMaxNoteBytes);
}

bool tells_versions(std::string_view label) {
  static constexpr std::array<std::string_view, 6> kKeys = {"cuda", "driver", "gpu_model", "kernel", "nccl", "torch"};
  return label.starts_with("env.") || std::find(kKeys.begin(), kKeys.end(), label) != kKeys.end();
}

void reduce_signals(const RankPattern& from, const WireLimits& limits, RankPattern& to) {
  const auto number = [](double value) { return std::isfinite(value) ? value : 0; };
  for (const SignalUse& use : from.signals) {
    to.signals.push_back({clean_text(use.metric, kMaxWordBytes), clean_text(use.entity, kMaxIdentityBytes),
                          clean_text(use.unit, kMaxWordBytes), number(use.mean), number(use.deviation),
                          number(use.minimum), number(use.maximum), use.covered_ns});
  }
  sort_signals(to.signals);
  keep_signals(to.signals, limits.signals);
}

void reduce_words(const RankPattern& from, const WireLimits& limits, RankPattern& to) {
  to.host = clean_text(from.host, kMaxIdentityBytes);
  to.job_id = clean_text(from.job_id, kMaxIdentityBytes);
  to.device = clean_text(from.device, kMaxIdentityBytes);
  for (const bool first : {true, false}) {
    for (const auto& [key, value] : from.labels) {
      if (tells_versions(key) == first && to.labels.size() < limits.labels) {
        to.labels.emplace(clean_text(key, kMaxLabelKeyBytes), clean_text(value, kMaxLabelValueBytes));
      }
    }
  }
  for (size_t i = 0; i < std::min(from.import.notes.size(), limits.notes); ++i) {
    to.import.notes.push_back(clean_text(from.import.notes[i], kMaxNoteBytes));
  }
}

void reduce_end(const RankPattern& from, RankPattern& to) {
  to.end = from.end;
  to.end.open.clear();
  for (const OpenCollective& open : from.end.open) {
    if (to.end.open.size() == kMaxOpenCollectives || to.groups.empty()) {
      break;
    }
    OpenCollective& kept = to.end.open.emplace_back(open);
    kept.kind = clean_text(open.kind, kMaxWordBytes);
    kept.group = std::min(open.group, static_cast<uint32_t>(to.groups.size() - 1));
  }
  if (!std::isfinite(to.end.cpu_run)) {
    to.end.cpu_run = -1;
  }
}

std::vector<WireLimits> make_limits() {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  // functions, with series, with hardware, fine sketches, buckets, instances, steps, groups, collectives, notes,
  // labels, signals
  std::vector<WireLimits> all{
      {1024, kAll, kAll, kAll, 40, 4096, 512, 128, 256, kMaxNotes, kMaxLabels, kMostSignals},
      {768, 256, 256, 128, 40, 4096, 512, 128, 256, kMaxNotes, kMaxLabels, kMostSignals},
      {512, 128, 192, 128, 32, 3600, 512, 128, 192, kMaxNotes, kMaxLabels, kMostSignals},
      {384, 96, 128, 96, 24, 3000, 512, 96, 160, kMaxNotes, kMaxLabels, kMostSignals},
      {320, 80, 112, 80, 24, 2400, 512, 96, 128, kMaxNotes, kMaxLabels, kMostSignals},
      {256, 64, 96, 64, 24, 2000, 512, 64, 96, kMaxNotes, kMaxLabels, kMostSignals},
      {224, 64, 96, 64, 24, 1700, 512, 64, 96, kMaxNotes, kMaxLabels, 128},
      {192, 48, 80, 64, 24, 1500, 512, 64, 96, kMaxNotes, kMaxLabels, 112},
      {160, 48, 72, 48, 24, 1500, 512, 64, 64, kMaxNotes, kMaxLabels, 96},
      {144, 48, 64, 48, 20, 1500, 512, 48, 64, kMaxNotes, kMaxLabels, 96},
      {128, 40, 64, 48, 16, 1500, 512, 48, 64, kMaxNotes, kMaxLabels, 80},
      {128, 32, 48, 32, 16, 1250, 448, 48, 64, 8, 48, 64},
  };
  while (all.back().functions > 4) {
    const WireLimits& before = all.back();
    const auto less = [](size_t count) { return count * 5 / 6; };
    all.push_back({less(before.functions), less(before.with_series), less(before.with_hardware),
                   less(before.fine_sketches), std::max<size_t>(less(before.sketch_buckets), 6), less(before.instances),
                   std::max<size_t>(less(before.steps), 16), std::max<size_t>(less(before.groups), 8),
                   std::max<size_t>(less(before.collectives), 8), 4, std::max<size_t>(less(before.labels), 24),
                   std::max<size_t>(less(before.signals), 24)});
  }
  all.push_back({0, 0, 0, 0, 6, 0, 16, 8, 8, 0, 0, 0});
  return all;
}

}  // namespace

const std::vector<WireLimits>& wire_limits() {
  static const std::vector<WireLimits> limits = make_limits();
  return limits;
}

RankPattern reduce(const RankPattern& pattern, const WireLimits& limits) {
  RankPattern kept;
  kept.rank = pattern.rank;
  kept.gpu = pattern.gpu;
  kept.world_size = pattern.world_size;
  kept.gpu_job = pattern.gpu_job;
  kept.window_start_unix_ns = pattern.window_start_unix_ns;
  kept.window_ns = pattern.window_ns;
  kept.step_source = pattern.step_source;
  kept.steps_numbered = pattern.steps_numbered;
  kept.budget = pattern.budget;
  kept.category_ns = pattern.category_ns;
  kept.category_count = pattern.category_count;
  kept.import.events = pattern.import.events;
  kept.import.bytes = pattern.import.bytes;
  kept.import.defects = pattern.import.defects;
  reduce_words(pattern, limits, kept);
  reduce_signals(pattern, limits, kept);
  reduce_steps(pattern, limits, kept);
  reduce_functions(pattern, limits, kept);
  kept.groups = reduce_groups(pattern, limits.groups);
  reduce_instances(pattern, reduce_collectives(pattern, limits, kept), limits, kept);
  reduce_end(pattern, kept);
  return kept;
}

}  // namespace eroica
