#include "compare/job.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/robust.h"
#include "compare/workload.h"

namespace eroica {
namespace {

constexpr float kLeastShare = 0.0002F;  // of the window; functions below tell nothing
constexpr size_t kFunctionsWithHardware = 8;

float ratio(double a, double b) { return b > 0 ? static_cast<float>(a / b) : 0.0F; }

std::string group_key(const GroupPattern& group) {
  if (group.ranks.empty()) {
    return group.name + '\n' + group.desc + '\n' + std::to_string(group.size);
  }
  std::string key;
  key.reserve(group.ranks.size() * 6);
  for (const int32_t rank : group.ranks) {
    key += std::to_string(rank);
    key += ',';
  }
  return key + group.name;
}

}  // namespace

std::string_view entity_kind_name(EntityKind kind) {
  constexpr std::array<std::string_view, 9> kNames{"rank", "worker", "thread", "host", "gpu",
                                                   "nic",  "disk",   "cpu",    "other"};
  return kNames[static_cast<size_t>(kind)];
}

EntityKind entity_kind(std::string_view entity) {
  const size_t slash = entity.find('/');
  const std::string_view part = slash == std::string_view::npos ? std::string_view{} : entity.substr(slash + 1);
  if (entity.starts_with("rank ")) {
    if (part.starts_with("worker ")) return EntityKind::kWorker;
    if (part.starts_with("thread ")) return EntityKind::kThread;
    return part.empty() ? EntityKind::kRank : EntityKind::kOther;
  }
  if (entity.starts_with("host ")) {
    if (part.empty()) return EntityKind::kHost;
    if (part.starts_with("gpu ")) return EntityKind::kGpu;
    if (part.starts_with("nic ")) return EntityKind::kNic;
    if (part.starts_with("disk ")) return EntityKind::kDisk;
    if (part.starts_with("cpu")) return EntityKind::kCpu;
  }
  return entity.starts_with("GPU ") ? EntityKind::kGpu : EntityKind::kOther;
}

const Signal* Job::signal(std::string_view metric) const {
  const auto found = std::lower_bound(signals.begin(), signals.end(), metric,
                                      [](const Signal& signal, std::string_view name) { return signal.metric < name; });
  return found != signals.end() && found->metric == metric ? &*found : nullptr;
}

uint32_t JobBuilder::word(const std::string& text) {
  if (text.empty()) return 0;
  const auto [found, is_new] = words_.try_emplace(text, static_cast<uint32_t>(job_.words.size()));
  if (is_new) job_.words.push_back(text);
  return found->second;
}

uint32_t JobBuilder::metric(const std::string& text) {
  const auto [found, is_new] = metrics_.try_emplace(text, static_cast<uint32_t>(job_.metrics.size()));
  if (is_new) job_.metrics.push_back(text);
  return found->second;
}

uint32_t JobBuilder::function(uint64_t hash, FunctionKind kind) {
  const auto [found, is_new] = functions_.try_emplace(hash, static_cast<uint32_t>(job_.functions.size()));
  if (is_new) {
    JobFunction function{.hash = hash, .kind = kind};
    if (const auto name = names_->find(hash); name != names_->end()) {
      classify(name->second, function);
    }
    job_.functions.push_back(function);
  }
  return found->second;
}

uint32_t JobBuilder::entity(const std::string& text) {
  const auto [found, is_new] = entities_.try_emplace(text, static_cast<uint32_t>(job_.entities.size()));
  if (is_new) job_.entities.push_back({text, entity_kind(text), {}});
  return found->second;
}

uint32_t JobBuilder::group(const GroupPattern& group) {
  const auto [found, is_new] = groups_.try_emplace(group_key(group), static_cast<uint32_t>(job_.groups.size()));
  if (is_new) {
    JobGroup added{group.name, group.desc, group.ranks, group.size};
    std::sort(added.ranks.begin(), added.ranks.end());
    if (!added.ranks.empty()) added.size = static_cast<int32_t>(added.ranks.size());
    job_.groups.push_back(std::move(added));
  }
  return found->second;
}

void JobBuilder::add_uses(const RankPattern& pattern, double steps, RankFacts& facts) {
  const auto window = static_cast<double>(pattern.window_ns);
  facts.uses_begin = static_cast<uint32_t>(job_.uses.size());
  facts.hardware_begin = static_cast<uint32_t>(job_.hardware.size());
  for (const FunctionPattern& from : pattern.functions) {
    FunctionUse use;
    use.exposed = ratio(static_cast<double>(from.exposed_ns), window);
    use.self = ratio(static_cast<double>(from.self_ns), window);
    use.total = ratio(static_cast<double>(from.total_ns), window);
    if (std::max(use.exposed, use.self) < kLeastShare) continue;
    use.function = function(from.name, from.kind);
    use.line = from.line;
    const auto executions = static_cast<double>(from.executions);
    use.calls = ratio(executions, steps);
    use.mean_us = ratio(static_cast<double>(from.total_ns) * 1e-3, executions);
    use.p50_us = static_cast<float>(static_cast<double>(from.durations.quantile(0.5)) * 1e-3);
    use.p99_us = static_cast<float>(static_cast<double>(from.durations.quantile(0.99)) * 1e-3);
    use.longest_us = static_cast<float>(static_cast<double>(from.longest_ns) * 1e-3);
    use.shape = from.shape;
    use.shapes = from.shapes;
    use.work_per_call = ratio(from.work, executions);
    use.beside_us = ratio(static_cast<double>(from.beside_ns) * 1e-3, static_cast<double>(from.beside_executions));
    use.alone_us = ratio(static_cast<double>(std::max<int64_t>(from.total_ns - from.beside_ns, 0)) * 1e-3,
                         executions - static_cast<double>(from.beside_executions));
    use.bytes = ratio(static_cast<double>(from.bytes), steps);
    for (const Issuer& issuer : from.issuers) {
      if (issuer.name == 0) continue;
      use.issuer = function(issuer.name, FunctionKind::kPython) + 1;
      use.issuer_line = issuer.line;
      break;
    }
    job_.uses.push_back(use);
  }
  const auto begin = job_.uses.begin() + facts.uses_begin;
  std::sort(begin, job_.uses.end(), [&](const FunctionUse& a, const FunctionUse& b) {
    const float weight_a = std::max(a.exposed, a.self);
    const float weight_b = std::max(b.exposed, b.self);
    return weight_a != weight_b ? weight_a > weight_b
                                : job_.functions[a.function].hash < job_.functions[b.function].hash;
  });
  if (static_cast<size_t>(job_.uses.end() - begin) > Job::kMaxUses) {
    job_.uses.resize(facts.uses_begin + Job::kMaxUses);
  }
  facts.uses_end = static_cast<uint32_t>(job_.uses.size());

  size_t with_hardware = 0;
  for (const FunctionPattern& from : pattern.functions) {
    if (from.kind != FunctionKind::kCompute || from.hardware.empty()) continue;
    if (++with_hardware > kFunctionsWithHardware) break;
    for (const HardwareUse& use : from.hardware) {
      if (!use.metric.starts_with("gpu.")) continue;
      job_.hardware.push_back({function(from.name, from.kind), metric(use.metric), entity(use.entity),
                               static_cast<float>(use.mean), static_cast<float>(use.deviation)});
    }
  }
  facts.hardware_end = static_cast<uint32_t>(job_.hardware.size());
}

void JobBuilder::add_collectives(const RankPattern& pattern, double steps, RankFacts& facts) {
  const auto window = static_cast<double>(pattern.window_ns);
  facts.collectives_begin = static_cast<uint32_t>(job_.collectives.size());
  facts.groups_begin = static_cast<uint32_t>(job_.memberships.size());
  for (const GroupPattern& member : pattern.groups) job_.memberships.push_back(group(member));
  facts.groups_end = static_cast<uint32_t>(job_.memberships.size());
  for (const CollectiveSummary& from : pattern.collectives) {
    if (from.group >= pattern.groups.size() || from.count == 0) continue;
    CollectiveUse use;
    use.group = group(pattern.groups[from.group]);
    use.kind = word(from.kind);
    use.count = ratio(static_cast<double>(from.count), steps);
    use.bytes = ratio(static_cast<double>(from.bytes), static_cast<double>(from.count));
    use.total = ratio(static_cast<double>(from.total_ns), window);
    use.exposed = ratio(static_cast<double>(from.exposed_ns), window);
    const auto at = [&](double q) { return static_cast<float>(static_cast<double>(from.durations.quantile(q)) * 1e-3); };
    use.p10_us = at(0.1);
    use.p50_us = at(0.5);
    use.p99_us = at(0.99);
    job_.collectives.push_back(use);
    if (from.kind == "send") facts.sends_per_step += static_cast<uint32_t>(use.count + 0.5F);
  }
  std::set<int32_t> partners;
  for (const CollectiveInstance& instance : pattern.instances) {
    if (instance.peer < 0 || instance.summary >= pattern.collectives.size()) continue;
    const uint32_t in = pattern.collectives[instance.summary].group;
    if (in >= pattern.groups.size()) continue;
    // A peer is told as a rank of its group or of the job: without a list of ranks, or where the group spans the job,
    // both are the same.
    const std::vector<int32_t>& ranks = pattern.groups[in].ranks;
    const auto place = static_cast<size_t>(instance.peer);
    const bool is_global = std::find(ranks.begin(), ranks.end(), instance.peer) != ranks.end();
    if (!is_global && place >= ranks.size()) continue;
    const int32_t partner = is_global ? instance.peer : ranks[place];
    if (partner != pattern.rank) partners.insert(partner);
  }
  for (const int32_t partner : partners) {
    job_.exchanges.emplace_back(std::min(partner, pattern.rank), std::max(partner, pattern.rank));
  }
  facts.collectives_end = static_cast<uint32_t>(job_.collectives.size());
}

void JobBuilder::add_steps(const RankPattern& pattern, RankFacts& facts) {
  facts.steps_begin = static_cast<uint32_t>(job_.steps.size());
  double sum_ms = 0;
  for (const StepPattern& step : pattern.steps) {
    StepFacts out;
    out.number = step.number;
    out.duration_ms = static_cast<float>(static_cast<double>(step.duration_ns) * 1e-6);
    const int64_t communication = step.budget[static_cast<size_t>(TimeClass::kCommunication)];
    out.own_ms = static_cast<float>(static_cast<double>(step.duration_ns - communication) * 1e-6);
    out.work = static_cast<float>(step.work);
    out.regular = step.complete && !step.irregular;
    if (out.regular) {
      ++facts.steps;
      sum_ms += out.duration_ms;
    }
    if (job_.steps.size() - facts.steps_begin < Job::kMaxSteps) job_.steps.push_back(out);
  }
  facts.steps_end = static_cast<uint32_t>(job_.steps.size());
  facts.step_ms = facts.steps > 0 ? static_cast<float>(sum_ms / facts.steps) : facts.window_ms;
}

void JobBuilder::add_signals(const RankPattern& pattern, uint32_t rank_index) {
  for (const SignalUse& use : pattern.signals) {
    const auto [found, is_new] =
        signals_.try_emplace({use.metric, use.unit}, static_cast<uint32_t>(job_.signals.size()));
    if (is_new) {
      job_.signals.push_back({use.metric, use.unit, {}});
      signal_entities_.emplace_back();
    }
    const uint32_t about = entity(use.entity);
    std::vector<uint32_t>& ranks = job_.entities[about].ranks;
    if (ranks.empty() || ranks.back() != rank_index) ranks.push_back(rank_index);
    Signal& signal = job_.signals[found->second];
    // Ranks of one host tell the same of it, but for the edges of their windows: the first one is taken.
    if (signal_entities_[found->second].try_emplace(about, static_cast<uint32_t>(signal.values.size())).second) {
      signal.values.push_back({about, static_cast<float>(use.mean), static_cast<float>(use.deviation),
                               static_cast<float>(use.minimum), static_cast<float>(use.maximum)});
    }
  }
}

void JobBuilder::add(const RankPattern& pattern) {
  RankFacts facts;
  facts.rank = pattern.rank;
  facts.host = word(pattern.host);
  facts.device = word(pattern.device);
  facts.gpu = pattern.gpu;
  facts.gpu_job = pattern.gpu_job;
  facts.step_source = pattern.step_source;
  facts.window_ms = static_cast<float>(static_cast<double>(pattern.window_ns) * 1e-6);
  facts.events = pattern.import.events;
  if (pattern.world_size > job_.world_size) job_.world_size = pattern.world_size;
  if (job_.id.empty()) job_.id = pattern.job_id;
  std::string label_key;
  for (const auto& [key, value] : pattern.labels) label_key += key + '\n' + value + '\n';
  const auto [labels, new_labels] = label_sets_.try_emplace(label_key, static_cast<uint32_t>(job_.label_sets.size()));
  if (new_labels) job_.label_sets.push_back(pattern.labels);
  facts.labels = labels->second;
  const auto window = static_cast<double>(pattern.window_ns);
  for (size_t i = 0; i < kTimeClassCount; ++i) {
    facts.share[i] = ratio(static_cast<double>(pattern.budget[i]), window);
  }
  add_steps(pattern, facts);
  const double steps = facts.step_ms > 0 ? facts.window_ms / facts.step_ms : 1;
  double work = 0;
  for (const FunctionPattern& function : pattern.functions) {
    if (function.kind == FunctionKind::kCompute) work += function.work;
  }
  facts.work = ratio(work, steps);
  add_uses(pattern, steps, facts);
  add_collectives(pattern, steps, facts);
  add_signals(pattern, static_cast<uint32_t>(job_.ranks.size()));
  job_.gpu_job = job_.gpu_job || pattern.gpu_job;
  job_.ranks.push_back(facts);
}

Job JobBuilder::finish() {
  Job job = std::move(job_);
  *this = JobBuilder(*names_);
  std::vector<uint32_t> order(job.ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto by_rank = [&](uint32_t a, uint32_t b) { return job.ranks[a].rank < job.ranks[b].rank; };
  if (!std::is_sorted(order.begin(), order.end(), by_rank)) {
    std::stable_sort(order.begin(), order.end(), by_rank);
    std::vector<uint32_t> place(order.size());
    std::vector<RankFacts> ranks;
    ranks.reserve(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      ranks.push_back(job.ranks[order[i]]);
    }
    job.ranks = std::move(ranks);
    for (Entity& entity : job.entities) {
      for (uint32_t& rank : entity.ranks) rank = place[rank];
      std::sort(entity.ranks.begin(), entity.ranks.end());
    }
  }
  std::sort(job.exchanges.begin(), job.exchanges.end());
  job.exchanges.erase(std::unique(job.exchanges.begin(), job.exchanges.end()), job.exchanges.end());
  std::sort(job.signals.begin(), job.signals.end(), [](const Signal& a, const Signal& b) {
    return std::tie(a.metric, a.unit) < std::tie(b.metric, b.unit);
  });
  for (Signal& signal : job.signals) {
    std::sort(signal.values.begin(), signal.values.end(), [&](const SignalValue& a, const SignalValue& b) {
      return job.entities[a.entity].text < job.entities[b.entity].text;
    });
  }
  std::vector<double> steps;
  steps.reserve(job.ranks.size());
  for (const RankFacts& rank : job.ranks) {
    if (rank.step_source != StepSource::kWindow && rank.steps > 0) steps.push_back(rank.step_ms);
  }
  if (steps.empty()) {
    for (const RankFacts& rank : job.ranks) steps.push_back(rank.window_ms);
  }
  job.step_ms = median(steps);
  return job;
}

Job build_job(std::span<const RankPattern> patterns, const NameTable& names) {
  JobBuilder builder(names);
  for (const RankPattern& pattern : patterns) builder.add(pattern);
  return builder.finish();
}

}  // namespace eroica
