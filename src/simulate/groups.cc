#include "simulate/groups.h"

#include <fmt/format.h>

#include <numeric>

#include "simulate/random.h"

namespace eroica {
namespace {

int add(Groups& groups, std::string_view desc, std::vector<int> ranks) {
  const size_t index = groups.all.size();
  groups.all.push_back({fmt::format("{}", index), std::string(desc), std::move(ranks), 0});
  return static_cast<int>(index);
}

}  // namespace

Groups make_groups(const JobSpec& job) {
  const Layout& layout = job.layout;
  const bool described = Random(job.seed, "groups").chance(0.6);
  const auto desc = [&](std::string_view text) { return described ? text : std::string_view("undefined"); };
  Groups groups;
  const auto world = static_cast<size_t>(layout.world());
  for (auto* table :
       {&groups.tensor, &groups.data, &groups.expert, &groups.context, &groups.next_stage, &groups.previous_stage}) {
    table->assign(world, -1);
  }
  std::vector<int> everyone(world);
  std::iota(everyone.begin(), everyone.end(), 0);
  add(groups, "default_pg", everyone);

  const auto join = [&](std::vector<int>& table, std::string_view text, const std::vector<int>& ranks) {
    if (ranks.size() < 2) return;
    const int group = ranks.size() == world ? 0 : add(groups, desc(text), ranks);
    for (const int rank : ranks) table[rank] = group;
  };
  for (int stage = 0; stage < layout.pp; ++stage) {
    for (int replica = 0; replica < layout.dp; ++replica) {
      std::vector<int> ranks;
      ranks.reserve(static_cast<size_t>(layout.tp));
      for (int shard = 0; shard < layout.tp; ++shard) ranks.push_back(layout.rank(stage, replica, shard));
      join(groups.tensor, "TENSOR_MODEL_PARALLEL_GROUP", ranks);
    }
  }
  for (int stage = 0; stage < layout.pp; ++stage) {
    for (int shard = 0; shard < layout.tp; ++shard) {
      std::vector<int> ranks;
      ranks.reserve(static_cast<size_t>(layout.dp));
      for (int replica = 0; replica < layout.dp; ++replica) ranks.push_back(layout.rank(stage, replica, shard));
      join(groups.data, "DATA_PARALLEL_GROUP", ranks);
      if (job.ring_attention && ranks.size() > 1) {
        const int group = add(groups, desc("CONTEXT_PARALLEL_GROUP"), ranks);
        for (const int rank : ranks) groups.context[rank] = group;
      }
      if (layout.ep < 2) continue;
      for (int first = 0; first + layout.ep <= layout.dp; first += layout.ep) {
        const std::vector<int> some(ranks.begin() + first, ranks.begin() + first + layout.ep);
        if (layout.ep == layout.dp && groups.data[some[0]] != 0) {
          const int group = add(groups, desc("EXPERT_MODEL_PARALLEL_GROUP"), some);
          for (const int rank : some) groups.expert[rank] = group;
        } else if (some.size() == world) {
          const int group = add(groups, desc("EXPERT_MODEL_PARALLEL_GROUP"), some);
          for (const int rank : some) groups.expert[rank] = group;
        } else {
          join(groups.expert, "EXPERT_MODEL_PARALLEL_GROUP", some);
        }
      }
    }
  }
  for (int stage = 0; stage + 1 < layout.pp; ++stage) {
    for (int replica = 0; replica < layout.dp; ++replica) {
      for (int shard = 0; shard < layout.tp; ++shard) {
        const int here = layout.rank(stage, replica, shard);
        const int there = layout.rank(stage + 1, replica, shard);
        const int group = add(groups, desc("PIPELINE_MODEL_PARALLEL_GROUP"), {here, there});
        groups.next_stage[here] = group;
        groups.previous_stage[there] = group;
      }
    }
  }
  return groups;
}

}  // namespace eroica
