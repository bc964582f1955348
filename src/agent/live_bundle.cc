#include "agent/live_bundle.h"

#include <nlohmann/json.hpp>
#include <set>

namespace eroica {

namespace {

using Json = nlohmann::ordered_json;

Json edge_json(const WindowEdge& edge) {
  Json groups = Json::array();
  for (const GroupCount& count : edge.groups) {
    groups.push_back(
        {{"name", count.group}, {"last_enqueued", count.last_enqueued}, {"last_completed", count.last_completed}});
  }
  return {{"unix_ns", edge.unix_ns}, {"step", edge.step}, {"step_unix_ns", edge.step_unix_ns}, {"groups", groups}};
}

}  // namespace

std::string bundle_json(const LiveBundle& bundle) {
  Json hosts = Json::array();
  Json ranks = Json::array();
  std::set<std::string> named;
  for (const LiveBundle::Rank& rank : bundle.ranks) {
    Json entry = {{"rank", rank.rank}};
    if (!rank.host.empty()) entry["host"] = rank.host;
    if (!rank.host.empty() && named.insert(rank.host).second) {
      hosts.push_back({{"name", rank.host}});
      if (!bundle.machine.empty() && bundle.machine != rank.host) hosts.back()["machine"] = bundle.machine;
    }
    if (rank.gpu >= 0) entry["gpu"] = rank.gpu;
    if (rank.pid >= 0) entry["pid"] = rank.pid;
    if (!rank.trace.empty()) entry["trace"] = rank.trace;
    if (!rank.nccl.empty()) entry["nccl"] = rank.nccl;
    if (!rank.stacks.empty()) entry["stacks"] = rank.stacks;
    Json labels = Json::object();
    for (const auto& [name, value] : rank.labels) labels[name] = value;
    if (!rank.env.empty()) labels["env"] = rank.env;
    if (!labels.empty()) entry["labels"] = std::move(labels);
    if (rank.edges.start) entry["edges"]["start"] = edge_json(*rank.edges.start);
    if (rank.edges.end) entry["edges"]["end"] = edge_json(*rank.edges.end);
    ranks.push_back(std::move(entry));
  }
  Json groups = Json::array();
  for (const ProcessGroup& group : bundle.groups) {
    groups.push_back({{"name", group.name}, {"desc", group.desc}, {"ranks", group.ranks}});
  }
  Json document = {{"schema", "eroica.bundle/1"}, {"job", {{"id", bundle.job}}}};
  if (bundle.world_size > 0) document["job"]["world_size"] = bundle.world_size;
  document["window"] = {{"start_unix_ns", bundle.start_unix_ns}, {"duration_ms", bundle.duration_ms}};
  document["hosts"] = std::move(hosts);
  if (!bundle.samples.empty()) {
    document["samples"] = Json::array({bundle.samples});
    document["sampler_cores"] = bundle.sampler_cores;
  }
  if (!bundle.not_sampled.empty()) document["not_sampled"] = bundle.not_sampled;
  document["ranks"] = std::move(ranks);
  if (!bundle.groups.empty()) document["groups"] = std::move(groups);
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace eroica
