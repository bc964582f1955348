#include "compare/job.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/robust.h"
#include "base/saturate.h"
#include "compare/process_group.h"
#include "compare/unobserved.h"
#include "compare/workload.h"

namespace eroica {
namespace {

float ratio(double a, double b) { return b > 0 ? static_cast<float>(a / b) : 0.0F; }

// Ranks take equally long over a step; what a rank's own few steps say of its length differs by where its window cuts
// them. So counts a step, taken with the rank's own mean step, are put on the job's.
void count_per_common_step(Job& job) {
  for (RankFacts& rank : job.ranks) {
    if (rank.step_ms <= 0 || rank.step_source == StepSource::kWindow) continue;
    const auto factor = static_cast<float>(job.step_ms / rank.step_ms);
    rank.work *= factor;
    for (uint32_t i = rank.uses_begin; i < rank.uses_end; ++i) {
      job.uses[i].calls *= factor;
      job.uses[i].bytes *= factor;
    }
    for (uint32_t i = rank.collectives_begin; i < rank.collectives_end; ++i) job.collectives[i].count *= factor;
  }
}

// By rank, each once: of one whose trace one host could not give and another could, what was observed is kept.
void put_ranks_in_order(Job& job) {
  std::vector<uint32_t> order(job.ranks.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto out_of_order = [](const RankFacts& a, const RankFacts& b) { return a.rank >= b.rank; };
  if (std::adjacent_find(job.ranks.begin(), job.ranks.end(), out_of_order) == job.ranks.end()) return;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(job.ranks[a].rank, !job.ranks[a].observed) < std::pair(job.ranks[b].rank, !job.ranks[b].observed);
  });
  std::vector<uint32_t> place(order.size());
  std::vector<RankFacts> ranks;
  ranks.reserve(order.size());
  for (const uint32_t from : order) {
    const RankFacts& rank = job.ranks[from];
    const bool is_double = !rank.observed && !ranks.empty() && ranks.back().rank == rank.rank;
    if (!is_double) ranks.push_back(rank);
    place[from] = static_cast<uint32_t>(ranks.size() - 1);
  }
  job.ranks = std::move(ranks);
  for (RankEnd& end : job.ends) end.rank = place[end.rank];
  std::sort(job.ends.begin(), job.ends.end(), [](const RankEnd& a, const RankEnd& b) { return a.rank < b.rank; });
  for (Entity& entity : job.entities) {
    for (uint32_t& rank : entity.ranks) rank = place[rank];
    std::sort(entity.ranks.begin(), entity.ranks.end());
    entity.ranks.erase(std::unique(entity.ranks.begin(), entity.ranks.end()), entity.ranks.end());
  }
}

}  // namespace

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
    job_.functions.push_back({.hash = hash, .kind = kind});
  }
  return found->second;
}

uint32_t JobBuilder::entity(const std::string& text) {
  for (const uint32_t recent : recent_entities_) {
    if (recent < job_.entities.size() && job_.entities[recent].text == text) return recent;
  }
  const auto [found, is_new] = entities_.try_emplace(text, static_cast<uint32_t>(job_.entities.size()));
  if (is_new) job_.entities.push_back({text, entity_kind(text), {}});
  recent_entities_[next_recent_++ % recent_entities_.size()] = found->second;
  return found->second;
}

uint32_t JobBuilder::group(std::string key, JobGroup group) {
  const auto [found, is_new] = groups_.try_emplace(std::move(key), static_cast<uint32_t>(job_.groups.size()));
  if (is_new) job_.groups.push_back(std::move(group));
  return found->second;
}

uint32_t JobBuilder::group(const GroupPattern& group) {
  std::string key = group_key(group);
  if (const auto known = groups_.find(key); known != groups_.end()) return known->second;
  JobGroup added{group.name, group.desc, group.ranks, group.size};
  std::sort(added.ranks.begin(), added.ranks.end());
  if (!added.ranks.empty()) added.size = static_cast<int32_t>(added.ranks.size());
  return this->group(std::move(key), std::move(added));
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
    if (std::max(use.exposed, use.self) < kLeastTellingShare) continue;
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
  if (static_cast<size_t>(job_.uses.end() - begin) > most_uses_) job_.uses.resize(facts.uses_begin + most_uses_);
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
  pattern_groups_.clear();
  for (const GroupPattern& member : pattern.groups) pattern_groups_.push_back(group(member));
  job_.memberships.insert(job_.memberships.end(), pattern_groups_.begin(), pattern_groups_.end());
  facts.groups_end = static_cast<uint32_t>(job_.memberships.size());
  for (uint32_t summary = 0; summary < pattern.collectives.size(); ++summary) {
    const CollectiveSummary& from = pattern.collectives[summary];
    if (from.group >= pattern.groups.size() || from.count == 0) continue;
    CollectiveUse use;
    use.group = pattern_groups_[from.group];
    use.kind = word(from.kind);
    use.summary = summary;
    use.count = ratio(static_cast<double>(from.count), steps);
    use.bytes = ratio(static_cast<double>(from.bytes), static_cast<double>(from.count));
    use.total = ratio(static_cast<double>(from.total_ns), window);
    use.exposed = ratio(static_cast<double>(from.exposed_ns), window);
    const auto at = [&](double q) {
      return static_cast<float>(static_cast<double>(from.durations.quantile(q)) * 1e-3);
    };
    use.p50_us = at(0.5);
    use.p99_us = at(0.99);
    job_.collectives.push_back(use);
  }
  std::set<int32_t> partners;
  for (const CollectiveInstance& instance : pattern.instances) {
    if (instance.peer < 0 || instance.summary >= pattern.collectives.size()) continue;
    const uint32_t in = pattern.collectives[instance.summary].group;
    if (in >= pattern.groups.size()) continue;
    const std::optional<int32_t> partner = peer_rank(pattern.groups[in], instance.peer);
    if (partner && *partner != pattern.rank) partners.insert(*partner);
  }
  for (const int32_t partner : partners) {
    job_.exchanges.emplace_back(std::min(partner, pattern.rank), std::max(partner, pattern.rank));
  }
  facts.collectives_end = static_cast<uint32_t>(job_.collectives.size());
}

void JobBuilder::add_steps(const RankPattern& pattern, RankFacts& facts) {
  facts.steps_begin = static_cast<uint32_t>(job_.steps.size());
  double sum_ms = 0;
  int64_t whole_ns = 0;
  int64_t python_ns = 0;
  for (const StepPattern& step : pattern.steps) {
    if (step.complete) {
      whole_ns = saturating_add(whole_ns, step.duration_ns);
      python_ns = saturating_add(python_ns, step.budget[static_cast<size_t>(TimeClass::kPython)]);
    }
    StepFacts out;
    out.number = step.number;
    out.duration_ms = static_cast<float>(static_cast<double>(step.duration_ns) * 1e-6);
    const int64_t communication = step.budget[static_cast<size_t>(TimeClass::kCommunication)];
    out.own_ms = static_cast<float>(static_cast<double>(step.duration_ns - communication) * 1e-6);
    out.launched_ms = static_cast<float>(static_cast<double>(step.launched_ns) * 1e-6);
    out.work = static_cast<float>(step.work);
    out.regular = step.complete && !step.irregular;
    if (out.regular) {
      ++facts.steps;
      sum_ms += out.duration_ms;
    }
    if (job_.steps.size() - facts.steps_begin < Job::kMaxSteps) job_.steps.push_back(out);
  }
  facts.steps_end = static_cast<uint32_t>(job_.steps.size());
  constexpr uint32_t kFewSteps = 3;
  if (facts.steps >= kFewSteps) {
    facts.python_in_steps = ratio(static_cast<double>(python_ns), static_cast<double>(whole_ns));
  }
  facts.step_ms = facts.steps > 0 ? static_cast<float>(sum_ms / facts.steps) : facts.window_ms;
}

uint32_t JobBuilder::signal(const std::string& metric, const std::string& unit, size_t place) {
  if (place < signal_at_.size()) {
    const Signal& guess = job_.signals[signal_at_[place]];
    if (guess.metric == metric && guess.unit == unit) return signal_at_[place];
  } else {
    signal_at_.resize(place + 1);
  }
  const auto [found, is_new] = signals_.try_emplace({metric, unit}, static_cast<uint32_t>(job_.signals.size()));
  if (is_new) {
    job_.signals.push_back({metric, unit, {}});
    has_value_.emplace_back();
  }
  return signal_at_[place] = found->second;
}

// Ranks of one host tell the same of it, but for the edges of their windows: the first one is taken.
void JobBuilder::add_value(uint32_t signal, const SignalValue& value) {
  std::vector<bool>& has = has_value_[signal];
  if (value.entity >= has.size()) has.resize(std::max<size_t>(value.entity + 1, job_.entities.size()));
  if (has[value.entity]) return;
  has[value.entity] = true;
  job_.signals[signal].values.push_back(value);
}

void JobBuilder::add_signals(const RankPattern& pattern, uint32_t rank_index) {
  size_t place = 0;
  for (const SignalUse& use : pattern.signals) {
    const uint32_t in = signal(use.metric, use.unit, place++);
    const uint32_t about = entity(use.entity);
    std::vector<uint32_t>& ranks = job_.entities[about].ranks;
    if (ranks.empty() || ranks.back() != rank_index) ranks.push_back(rank_index);
    add_value(in, {about, static_cast<float>(use.mean), static_cast<float>(use.deviation),
                   static_cast<float>(use.minimum), static_cast<float>(use.maximum)});
  }
}

void JobBuilder::add_end(const RankPattern& pattern, RankFacts& facts) {
  const WindowEnd& from = pattern.end;
  const int64_t observed = from.observed_ns > 0 ? from.observed_ns : pattern.window_ns;
  const auto ms = [](int64_t ns) { return static_cast<float>(static_cast<double>(ns) * 1e-6); };
  facts.end_unix_ns = saturating_add(pattern.window_start_unix_ns, observed);
  facts.silent_ms = from.last_event_ns > 0 ? ms(observed - from.last_event_ns) : 0.0F;
  facts.observed_ms = ms(observed);
  facts.since_step_ms = ms(observed);
  // A step that ends with a quiet window was cut by it, whatever the marks say.
  const int64_t over = observed - from.quiet_ns / 2;
  for (const StepPattern& step : pattern.steps) {
    if (!step.complete || saturating_add(step.start_ns, step.duration_ns) > over) continue;
    facts.longest_step_ms = std::max(facts.longest_step_ms, ms(step.duration_ns));
    facts.since_step_ms = std::min(facts.since_step_ms, ms(observed - saturating_add(step.start_ns, step.duration_ns)));
  }
  if (from.quiet_ns == 0) return;
  RankEnd end;
  end.rank = static_cast<uint32_t>(job_.ranks.size());
  end.quiet_ms = ms(from.quiet_ns);
  end.cpu_run = static_cast<float>(from.cpu_run);
  end.unsampled_ms = from.sampled_ns < 0 ? -1.0F : std::max(0.0F, ms(observed - from.sampled_ns));
  if (from.frame != 0) end.frame = function(from.frame, FunctionKind::kPython) + 1;
  if (from.user_frame != 0) end.user_frame = function(from.user_frame, FunctionKind::kPython) + 1;
  end.line = from.line;
  end.user_line = from.user_line;
  end.opens_begin = static_cast<uint32_t>(job_.opens.size());
  for (const OpenCollective& open : from.open) {
    if (open.group >= pattern.groups.size()) continue;
    job_.opens.push_back({pattern_groups_[open.group], word(open.kind), open.sequence, open.bytes,
                          ms(observed - open.since_ns), ms(open.longest_ns), open.begun, open.unusual});
  }
  end.opens_end = static_cast<uint32_t>(job_.opens.size());
  job_.ends.push_back(end);
}

void JobBuilder::add(const RankPattern& pattern) {
  RankFacts facts;
  facts.rank = pattern.rank;
  facts.host = word(pattern.host);
  facts.device = word(pattern.device);
  facts.gpu = pattern.gpu;
  facts.gpu_job = pattern.gpu_job;
  facts.observed = is_observed(pattern);
  facts.step_source = pattern.step_source;
  facts.steps_numbered = pattern.steps_numbered;
  facts.window_ms = static_cast<float>(static_cast<double>(pattern.window_ns) * 1e-6);
  facts.events = pattern.import.events;
  if (pattern.world_size > job_.world_size) job_.world_size = pattern.world_size;
  if (job_.id.empty()) job_.id = pattern.job_id;
  std::string label_key;
  for (const auto& [key, value] : pattern.labels) label_key.append(key).append(1, '\n').append(value).append(1, '\n');
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
  add_end(pattern, facts);
  job_.gpu_job = job_.gpu_job || pattern.gpu_job;
  job_.ranks.push_back(facts);
}

namespace {

template <typename T>
void append_to(std::vector<T>& into, const std::vector<T>& more) {
  into.insert(into.end(), more.begin(), more.end());
}

template <typename T>
void reserve_like(std::vector<T>& column, double factor) {
  column.reserve(static_cast<size_t>(static_cast<double>(column.size()) * factor));
}

}  // namespace

void JobBuilder::append_columns(const JobBuilder& more) {
  const Job& from = more.job_;
  std::vector<uint32_t> words;
  std::vector<uint32_t> metrics;
  std::vector<uint32_t> functions;
  std::vector<uint32_t> entities;
  words.reserve(from.words.size());
  metrics.reserve(from.metrics.size());
  functions.reserve(from.functions.size());
  entities.reserve(from.entities.size());
  for (const std::string& text : from.words) words.push_back(word(text));
  for (const std::string& text : from.metrics) metrics.push_back(metric(text));
  for (const JobFunction& one : from.functions) functions.push_back(function(one.hash, one.kind));
  const auto first_rank = static_cast<uint32_t>(job_.ranks.size());
  for (const Entity& one : from.entities) {
    entities.push_back(entity(one.text));
    std::vector<uint32_t>& ranks = job_.entities[entities.back()].ranks;
    for (const uint32_t rank : one.ranks) ranks.push_back(first_rank + rank);
  }
  std::vector<uint32_t> groups(from.groups.size());
  std::vector<const std::string*> keys(from.groups.size());
  for (const auto& [key, index] : more.groups_) keys[index] = &key;
  for (size_t i = 0; i < keys.size(); ++i) groups[i] = group(*keys[i], from.groups[i]);
  std::vector<uint32_t> labels(from.label_sets.size());
  keys.assign(from.label_sets.size(), nullptr);
  for (const auto& [key, index] : more.label_sets_) keys[index] = &key;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto [known, is_new] = label_sets_.try_emplace(*keys[i], static_cast<uint32_t>(job_.label_sets.size()));
    if (is_new) job_.label_sets.push_back(from.label_sets[i]);
    labels[i] = known->second;
  }

  const auto offset = [](size_t size) { return static_cast<uint32_t>(size); };
  const uint32_t uses = offset(job_.uses.size());
  const uint32_t hardware = offset(job_.hardware.size());
  const uint32_t collectives = offset(job_.collectives.size());
  const uint32_t steps = offset(job_.steps.size());
  const uint32_t memberships = offset(job_.memberships.size());
  const uint32_t opens = offset(job_.opens.size());
  for (RankFacts rank : from.ranks) {
    rank.host = words[rank.host];
    rank.device = words[rank.device];
    rank.labels = labels[rank.labels];
    rank.uses_begin += uses;
    rank.uses_end += uses;
    rank.hardware_begin += hardware;
    rank.hardware_end += hardware;
    rank.collectives_begin += collectives;
    rank.collectives_end += collectives;
    rank.steps_begin += steps;
    rank.steps_end += steps;
    rank.groups_begin += memberships;
    rank.groups_end += memberships;
    job_.ranks.push_back(rank);
  }
  for (FunctionUse use : from.uses) {
    use.function = functions[use.function];
    if (use.issuer != 0) use.issuer = functions[use.issuer - 1] + 1;
    job_.uses.push_back(use);
  }
  for (HardwareFact fact : from.hardware) {
    fact.function = functions[fact.function];
    fact.metric = metrics[fact.metric];
    fact.entity = entities[fact.entity];
    job_.hardware.push_back(fact);
  }
  for (CollectiveUse use : from.collectives) {
    use.group = groups[use.group];
    use.kind = words[use.kind];
    job_.collectives.push_back(use);
  }
  for (const uint32_t member : from.memberships) job_.memberships.push_back(groups[member]);
  for (RankEnd end : from.ends) {
    end.rank += first_rank;
    if (end.frame != 0) end.frame = functions[end.frame - 1] + 1;
    if (end.user_frame != 0) end.user_frame = functions[end.user_frame - 1] + 1;
    end.opens_begin += opens;
    end.opens_end += opens;
    job_.ends.push_back(end);
  }
  for (OpenUse open : from.opens) {
    open.group = groups[open.group];
    open.kind = words[open.kind];
    job_.opens.push_back(open);
  }
  append_to(job_.steps, from.steps);
  append_to(job_.exchanges, from.exchanges);
  append_signals(more, entities);
}

void JobBuilder::append_signals(const JobBuilder& more, const std::vector<uint32_t>& entities) {
  for (size_t i = 0; i < more.job_.signals.size(); ++i) {
    const Signal& from = more.job_.signals[i];
    const uint32_t in = signal(from.metric, from.unit, i);
    for (SignalValue value : from.values) {
      value.entity = entities[value.entity];
      add_value(in, value);
    }
  }
}

void JobBuilder::append(JobBuilder&& more) {
  if (job_.ranks.empty()) {
    const size_t most_uses = most_uses_;
    *this = std::move(more);
    most_uses_ = most_uses;
    return;
  }
  append_columns(more);
  job_.world_size = std::max(job_.world_size, more.job_.world_size);
  if (job_.id.empty()) job_.id = more.job_.id;
  job_.gpu_job = job_.gpu_job || more.job_.gpu_job;
  more = JobBuilder(most_uses_);
}

void JobBuilder::reserve(size_t ranks) {
  if (job_.ranks.empty() || ranks <= job_.ranks.size()) return;
  constexpr double kMargin = 1.02;
  const double factor = kMargin * static_cast<double>(ranks) / static_cast<double>(job_.ranks.size());
  reserve_like(job_.ranks, factor);
  reserve_like(job_.uses, factor);
  reserve_like(job_.hardware, factor);
  reserve_like(job_.collectives, factor);
  reserve_like(job_.steps, factor);
  reserve_like(job_.memberships, factor);
  reserve_like(job_.entities, factor);
  for (Signal& signal : job_.signals) reserve_like(signal.values, factor);
}

namespace {

/// By text. Most differ within their first bytes, and those lie together here.
std::vector<uint32_t> order_by_text(const std::vector<Entity>& entities) {
  struct Key {
    uint64_t begin;
    uint32_t index;
  };
  std::vector<Key> keys;
  keys.reserve(entities.size());
  for (const Entity& entity : entities) {
    std::array<char, sizeof(uint64_t)> begin{};
    entity.text.copy(begin.data(), begin.size());
    keys.push_back({__builtin_bswap64(std::bit_cast<uint64_t>(begin)), static_cast<uint32_t>(keys.size())});
  }
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    return a.begin != b.begin ? a.begin < b.begin : entities[a.index].text < entities[b.index].text;
  });
  std::vector<uint32_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back(key.index);
  return order;
}

/// By entity, of which each is there once at most.
void order_by_entity(std::vector<SignalValue>& values, size_t entities) {
  std::vector<uint32_t> at(entities, 0);  // + 1; 0 = none
  for (size_t i = 0; i < values.size(); ++i) at[values[i].entity] = static_cast<uint32_t>(i + 1);
  std::vector<SignalValue> ordered;
  ordered.reserve(values.size());
  for (const uint32_t index : at) {
    if (index > 0) ordered.push_back(values[index - 1]);
  }
  values = std::move(ordered);
}

}  // namespace

// By text, so that their numbers do not tell in which order the patterns came.
void JobBuilder::order_entities() {
  const std::vector<uint32_t> order = order_by_text(job_.entities);
  std::vector<uint32_t> place(order.size());
  std::vector<Entity> entities;
  entities.reserve(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    entities.push_back(std::move(job_.entities[order[i]]));
  }
  job_.entities = std::move(entities);
  for (HardwareFact& fact : job_.hardware) fact.entity = place[fact.entity];
  for (Signal& signal : job_.signals) {
    for (SignalValue& value : signal.values) value.entity = place[value.entity];
    order_by_entity(signal.values, job_.entities.size());
  }
}

Job JobBuilder::finish(const NameTable& names) {
  entities_.clear();  // the largest of the tables, and of no more use
  has_value_.clear();
  order_entities();
  Job job = std::move(job_);
  *this = JobBuilder(most_uses_);
  classify_functions(job, names);
  put_ranks_in_order(job);
  std::sort(job.exchanges.begin(), job.exchanges.end());
  job.exchanges.erase(std::unique(job.exchanges.begin(), job.exchanges.end()), job.exchanges.end());
  std::sort(job.signals.begin(), job.signals.end(),
            [](const Signal& a, const Signal& b) { return std::tie(a.metric, a.unit) < std::tie(b.metric, b.unit); });
  std::vector<double> steps;
  steps.reserve(job.ranks.size());
  for (const RankFacts& rank : job.ranks) {
    if (rank.step_source != StepSource::kWindow && rank.steps > 0) steps.push_back(rank.step_ms);
  }
  if (steps.empty()) {
    for (const RankFacts& rank : job.ranks) steps.push_back(rank.window_ms);
  }
  job.step_ms = median(steps);
  count_per_common_step(job);
  stand_in_for_unobserved(job);
  return job;
}

void classify_functions(Job& job, const NameTable& names) {
  for (JobFunction& function : job.functions) {
    if (const auto name = names.find(function.hash); name != names.end()) classify(name->second, function);
  }
}

Job build_job(std::span<const RankPattern> patterns, const NameTable& names) {
  JobBuilder builder;
  for (const RankPattern& pattern : patterns) builder.add(pattern);
  return builder.finish(names);
}

}  // namespace eroica
