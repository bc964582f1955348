#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/robust.h"
#include "diagnose/facts.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr size_t kMostAsked = 64;
constexpr size_t kFewValues = 8192;  // of one signal; of more only some are asked

// The kind of entity that is meant where a rule does not say: the metric's usual one.
std::string_view kind_of_entity(const EvidenceRule& evidence) {
  if (!evidence.entity.empty()) return evidence.entity;
  const KnownFact* known = find_fact(evidence.fact);
  return known == nullptr ? std::string_view{} : known->entities.substr(0, known->entities.find(' '));
}

// What a device carries depends on the stage of the pipeline that it serves.
bool is_traffic(std::string_view metric) {
  return metric.starts_with("gpu.nvlink_t") || metric.starts_with("gpu.nvlink_rec");
}

// Entities that serve the same peer sets have the same key; 0 where that does not matter.
uint64_t stage_key(const Entity& entity, const Peers& peers, std::string_view metric) {
  if (peers.stages < 2 || !is_traffic(metric)) return 0;
  uint64_t key = 0;
  for (const uint32_t rank : entity.ranks) key |= uint64_t{1} << (peers.set_of[rank] % 64);
  return key;
}

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
           return is_of_kind(now_->job->entities[value.entity], kind_of_entity(evidence));
         });
}

std::vector<uint32_t> Facts::entities_where(const EvidenceRule& evidence) {
  std::vector<uint32_t> found;
  const Job& job = *now_->job;
  const Signal* signal = job.signal(evidence.fact);
  if (signal == nullptr) return found;
  // Per kind of entity and, as a chip's own figures differ by model, accelerator.
  std::map<std::tuple<EntityKind, uint32_t, uint64_t>, std::vector<const SignalValue*>> groups;
  for (const SignalValue& value : signal->values) {
    const Entity& entity = job.entities[value.entity];
    if (!is_of_kind(entity, kind_of_entity(evidence)) || entity.ranks.empty()) continue;
    const uint32_t device = entity.kind == EntityKind::kGpu ? job.ranks[entity.ranks.front()].device : 0;
    groups[{entity.kind, device, stage_key(entity, now_->peers, evidence.fact)}].push_back(&value);
  }
  for (const auto& [key, values] : groups) {
    std::vector<double> all;
    all.reserve(values.size());
    for (const SignalValue* value : values) all.push_back(figure(*value, evidence.statistic));
    const double median_of_all = median(all);
    const double mad_of_all = median_absolute_deviation(all);
    for (size_t i = 0; i < values.size(); ++i) {
      SeenFact seen;
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
      if (judge(evidence.bounds, seen) == Judgement::kHolds) found.push_back(values[i]->entity);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Of a signal with very many values those of the subject's entities, and others evenly spread.
std::vector<const SignalValue*> Facts::values_to_ask(const Signal& signal, const Subject& subject) {
  std::vector<const SignalValue*> values;
  if (signal.values.size() <= kFewValues) {
    values.reserve(signal.values.size());
    for (const SignalValue& value : signal.values) values.push_back(&value);
    return values;
  }
  if (entities_begin_.empty()) index_entities();
  std::vector<uint32_t> wanted;
  for (const uint32_t rank : subject.sample(kFewValues / 8)) {
    wanted.insert(wanted.end(), entities_of_ranks_.begin() + entities_begin_[rank],
                  entities_of_ranks_.begin() + entities_begin_[rank + 1]);
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const auto before = [](const SignalValue& value, uint32_t entity) { return value.entity < entity; };
  for (const uint32_t entity : wanted) {
    const auto found = std::lower_bound(signal.values.begin(), signal.values.end(), entity, before);
    if (found != signal.values.end() && found->entity == entity) values.push_back(&*found);
  }
  const size_t stride = signal.values.size() / (kFewValues / 2);
  for (size_t i = 0; i < signal.values.size(); i += stride) {
    if (!touches(now_->job->entities[signal.values[i].entity], subject)) values.push_back(&signal.values[i]);
  }
  return values;
}

void Facts::index_entities() {
  const Job& job = *now_->job;
  entities_begin_.assign(job.ranks.size() + 1, 0);
  for (const Entity& entity : job.entities) {
    for (const uint32_t rank : entity.ranks) ++entities_begin_[rank + 1];
  }
  for (size_t i = 1; i < entities_begin_.size(); ++i) entities_begin_[i] += entities_begin_[i - 1];
  entities_of_ranks_.resize(entities_begin_.back());
  std::vector<uint32_t> next(entities_begin_.begin(), entities_begin_.end() - 1);
  for (uint32_t entity = 0; entity < job.entities.size(); ++entity) {
    for (const uint32_t rank : job.entities[entity].ranks) entities_of_ranks_[next[rank]++] = entity;
  }
}

double Facts::signal_of_rank(std::string_view metric, uint32_t rank) {
  const Job& job = *now_->job;
  const Signal* signal = job.signal(metric);
  if (signal == nullptr) return std::numeric_limits<double>::quiet_NaN();
  if (entities_begin_.empty()) index_entities();
  for (uint32_t i = entities_begin_[rank]; i < entities_begin_[rank + 1]; ++i) {
    const uint32_t entity = entities_of_ranks_[i];
    if (job.entities[entity].kind != EntityKind::kRank) continue;
    const auto found = std::ranges::lower_bound(signal->values, entity, {}, &SignalValue::entity);
    if (found != signal->values.end() && found->entity == entity) return found->mean;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::optional<SeenFact> Facts::signal(const EvidenceRule& evidence, const Candidate& candidate) {
  const Job& job = *now_->job;
  const Signal* signal = job.signal(evidence.fact);
  if (signal == nullptr) return std::nullopt;
  const std::vector<const SignalValue*> values = values_to_ask(*signal, candidate.subject);
  const bool more = looks_for_more(evidence.bounds);
  // Of several entities of one rank (two NICs, many workers) the one that shows it most speaks.
  std::map<uint32_t, double> by_rank;
  std::vector<double> others;
  std::string strongest;
  double most = 0;
  uint32_t device = std::numeric_limits<uint32_t>::max();
  for (const uint32_t rank : candidate.subject.sample(1)) device = job.ranks[rank].device;
  std::vector<uint64_t> keys;
  for (const SignalValue* value : values) {
    const Entity& entity = job.entities[value->entity];
    if (!is_of_kind(entity, kind_of_entity(evidence)) || !touches(entity, candidate.subject)) continue;
    const uint64_t key = stage_key(entity, now_->peers, evidence.fact);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  for (const SignalValue* value : values) {
    const Entity& entity = job.entities[value->entity];
    if (!is_of_kind(entity, kind_of_entity(evidence)) || entity.ranks.empty()) continue;
    const double at = figure(*value, evidence.statistic);
    if (!touches(entity, candidate.subject)) {
      if (std::find(keys.begin(), keys.end(), stage_key(entity, now_->peers, evidence.fact)) == keys.end()) continue;
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
  SeenFact seen;
  for (const auto& [rank, value] : by_rank) seen.value += value / static_cast<double>(by_rank.size());
  if (!others.empty()) {
    seen.peers_median = median(others);
    seen.peers_mad = median_absolute_deviation(others);
  }
  seen.entity = strongest;
  return seen;
}

std::optional<SeenFact> Facts::use_by_kernels(const EvidenceRule& evidence, const Candidate& candidate) {
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
  SeenFact seen;
  seen.value = value / weight;
  seen.peers_median = reference / weight;
  seen.entity = entity;
  return seen;
}

}  // namespace eroica
