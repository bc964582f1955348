#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/robust.h"
#include "diagnose/facts.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr size_t kMostAsked = 64;

bool touches(const Entity& entity, const Subject& subject) {
  return std::any_of(entity.ranks.begin(), entity.ranks.end(), [&](uint32_t rank) { return subject.contains(rank); });
}

// Signals of these are compared over kernels where patterns tell them: a waiting GPU draws less power too.
bool depends_on_kernels(std::string_view metric) {
  return metric == "gpu.power" || metric == "gpu.sm_clock" || metric == "gpu.dram_active" ||
         metric == "gpu.tensor_active" || metric == "gpu.sm_active";
}

bool rule_takes(const Rule& rule, const JobFunction& function) {
  if (rule.kernels.empty()) return true;
  return std::any_of(rule.kernels.begin(), rule.kernels.end(), [&](const std::string& which) {
    return which == "any" || (which == "gemm") == (function.workload == Workload::kMatrix);
  });
}

}  // namespace

bool is_of_kind(const Entity& entity, std::string_view kind) {
  return kind.empty() || entity_kind_name(entity.kind) == kind;
}

double figure(const SignalValue& value, Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean:
      return value.mean;
    case Statistic::kMaximum:
      return value.maximum;
    case Statistic::kMinimum:
      return value.minimum;
    case Statistic::kDeviation:
      return value.deviation;
    case Statistic::kVariation:
      return value.mean != 0 ? value.deviation / std::abs(value.mean) : 0;
  }
  return 0;
}

bool Facts::is_sampled(const EvidenceRule& evidence) const {
  const Signal* signal = now_->job->signal(evidence.fact);
  return signal != nullptr && std::any_of(signal->values.begin(), signal->values.end(), [&](const SignalValue& value) {
           return is_of_kind(now_->job->entities[value.entity], evidence.entity);
         });
}

std::vector<uint32_t> Facts::entities_where(const EvidenceRule& evidence) {
  std::vector<uint32_t> found;
  const Job& job = *now_->job;
  const Signal* signal = job.signal(evidence.fact);
  if (signal == nullptr) return found;
  // Per kind of entity and, as a chip's own figures differ by model, accelerator.
  std::map<std::pair<EntityKind, uint32_t>, std::vector<const SignalValue*>> groups;
  for (const SignalValue& value : signal->values) {
    const Entity& entity = job.entities[value.entity];
    if (!is_of_kind(entity, evidence.entity) || entity.ranks.empty()) continue;
    const uint32_t device = entity.kind == EntityKind::kGpu ? job.ranks[entity.ranks.front()].device : 0;
    groups[{entity.kind, device}].push_back(&value);
  }
  for (const auto& [key, values] : groups) {
    std::vector<double> all;
    all.reserve(values.size());
    for (const SignalValue* value : values) all.push_back(figure(*value, evidence.statistic));
    const double median_of_all = median(all);
    const double mad_of_all = median_absolute_deviation(all);
    for (size_t i = 0; i < values.size(); ++i) {
      Observation seen;
      seen.value = all[i];
      if (values.size() > 16) {
        seen.peers_median = median_of_all;
        seen.peers_mad = mad_of_all;
      } else if (values.size() > 1) {
        std::vector<double> others = all;
        others.erase(others.begin() + static_cast<ptrdiff_t>(i));
        seen.peers_median = median(others);
        seen.peers_mad = median_absolute_deviation(others);
      }
      if (judge(evidence.bounds, seen) == Verdict::kHolds) found.push_back(values[i]->entity);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<Observation> Facts::signal(const EvidenceRule& evidence, const Candidate& candidate) {
  const Job& job = *now_->job;
  const Signal* signal = job.signal(evidence.fact);
  if (signal == nullptr) return std::nullopt;
  const bool more = looks_for_more(evidence.bounds);
  // Of several entities of one rank (two NICs, many workers) the one that shows it most speaks.
  std::map<uint32_t, double> by_rank;
  std::vector<double> others;
  std::string strongest;
  double most = 0;
  uint32_t device = std::numeric_limits<uint32_t>::max();
  for (const uint32_t rank : candidate.subject.sample(1)) device = job.ranks[rank].device;
  for (const SignalValue& value : signal->values) {
    const Entity& entity = job.entities[value.entity];
    if (!is_of_kind(entity, evidence.entity) || entity.ranks.empty()) continue;
    const double at = figure(value, evidence.statistic);
    if (!touches(entity, candidate.subject)) {
      if (entity.kind != EntityKind::kGpu || job.ranks[entity.ranks.front()].device == device) others.push_back(at);
      continue;
    }
    if (strongest.empty() || (more ? at > most : at < most)) {
      most = at;
      strongest = entity.text;
    }
    for (const uint32_t rank : entity.ranks) {
      if (!candidate.subject.contains(rank)) continue;
      const auto [entry, is_new] = by_rank.try_emplace(rank, at);
      if (!is_new) entry->second = more ? std::max(entry->second, at) : std::min(entry->second, at);
    }
  }
  if (by_rank.empty()) return std::nullopt;
  Observation seen;
  for (const auto& [rank, value] : by_rank) seen.value += value / static_cast<double>(by_rank.size());
  if (!others.empty()) {
    seen.peers_median = median(others);
    seen.peers_mad = median_absolute_deviation(others);
  }
  seen.entity = strongest;
  return seen;
}

std::optional<Observation> Facts::use_by_kernels(const EvidenceRule& evidence, const Candidate& candidate) {
  if (!depends_on_kernels(evidence.fact) || candidate.rule == nullptr) return std::nullopt;
  const Job& job = *now_->job;
  struct Elsewhere {
    std::vector<double> values;
  };
  std::map<uint32_t, Elsewhere> elsewhere;  // by function
  uint32_t device = std::numeric_limits<uint32_t>::max();
  const std::vector<uint32_t> asked = candidate.subject.sample(kMostAsked);
  for (const uint32_t rank : asked) device = job.ranks[rank].device;
  const size_t stride = std::max<size_t>(1, job.ranks.size() / 1024);
  for (size_t rank = 0; rank < job.ranks.size(); rank += stride) {
    if (candidate.subject.contains(static_cast<uint32_t>(rank)) || job.ranks[rank].device != device) continue;
    for (const HardwareFact& fact : job.hardware_of(job.ranks[rank])) {
      if (job.metrics[fact.metric] == evidence.fact) elsewhere[fact.function].values.push_back(fact.mean);
    }
  }
  std::map<uint32_t, double> usual;
  for (auto& [function, values] : elsewhere) usual[function] = median(values.values);
  double value = 0;
  double reference = 0;
  double weight = 0;
  std::string entity;
  for (const uint32_t rank : asked) {
    for (const HardwareFact& fact : job.hardware_of(job.ranks[rank])) {
      if (job.metrics[fact.metric] != evidence.fact || !rule_takes(*candidate.rule, job.functions[fact.function])) {
        continue;
      }
      const auto there = usual.find(fact.function);
      if (there == usual.end()) continue;
      double exposed = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (use.function == fact.function) exposed = use.exposed;
      }
      value += exposed * fact.mean;
      reference += exposed * there->second;
      weight += exposed;
      if (entity.empty()) entity = job.entities[fact.entity].text;
    }
  }
  if (weight <= 0) return std::nullopt;
  Observation seen;
  seen.value = value / weight;
  seen.peers_median = reference / weight;
  seen.entity = entity;
  return seen;
}

}  // namespace eroica
