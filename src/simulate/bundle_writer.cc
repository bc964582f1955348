#include "simulate/bundle_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "simulate/compress.h"
#include "simulate/sampler.h"
#include "simulate/trace_writer.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

template <typename Items, typename Item>
bool holds(const Items& items, const Item& item) {
  return std::ranges::find(items, item) != std::end(items);
}

Json env_of(const Plant& plant, const PlantProcess* process) {
  Json env = Json::object();
  for (const auto& [key, value] : plant.dialect.env) env[key] = value;
  if (process != nullptr) {
    for (const auto& [key, value] : process->env) env[key] = value;
  }
  return env;
}

Json host_json(const Plant& plant, int host, bool with_samples) {
  const Dialect& look = plant.dialect;
  const HostState& state = plant.hosts[host];
  const int rank = host * plant.job.gpus_per_host;
  Json json = {{"name", look.hosts[host]}};
  if (with_samples) json["samples"] = fmt::format("samples-{}.json.zst", look.hosts[host]);
  Json labels = {{"driver", state.driver.empty() ? look.driver : state.driver},
                 {"cuda", look.cuda},
                 {"nccl", state.nccl.empty() ? look.nccl : state.nccl},
                 {"kernel", state.kernel.empty() ? look.kernel : state.kernel},
                 {"env", env_of(plant, nullptr)},
                 {"gpu_model", plant.job.gpu_of(rank).name},
                 {"gpus", plant.job.gpus_per_host},
                 {"nics", look.nics[host]}};
  if (plant.residue)
    labels["profiler_ended_unix_ns"] = std::to_string(host_clock(plant, host).unix_ns(0) - 45'000'000'000);
  json["labels"] = std::move(labels);
  return json;
}

Json rank_json(const Plant& plant, int rank, const std::string& trace) {
  const PlantProcess& process = plant.processes[rank];
  Json json = {{"rank", rank},
               {"host", plant.dialect.hosts[plant.job.host_of(rank)]},
               {"gpu", plant.job.gpu_index(rank)},
               {"pid", process_id(plant, rank)}};
  if (!trace.empty()) json["trace"] = trace;
  json["labels"] = {{"env", env_of(plant, &process)},
                    {"torch", process.torch.empty() ? plant.dialect.torch : process.torch}};
  return json;
}

/// A window by one host's clock means nothing to a host whose clock is far off; so it is named where clocks are alike.
bool names_window(const Plant& plant, const WindowSpan& window) {
  const int64_t first = host_clock(plant, 0).unix_ns(window.start_ns);
  for (int host = 1; host < plant.job.hosts; ++host) {
    const int64_t off = std::abs(host_clock(plant, host).unix_ns(window.start_ns) - first);
    if (off > (window.end_ns - window.start_ns) / 50) return false;
  }
  return true;
}

}  // namespace

std::vector<SimulatedFile> write_bundle(const Plant& plant, const JobProgram& program, const Timeline& timeline,
                                        const SimulateRequest& request, const std::string& folder) {
  const WindowSpan window = profiled_window(plant, timeline);
  Json bundle = {{"schema", "eroica.bundle/1"},
                 {"job", {{"id", plant.dialect.job_id}, {"world_size", plant.job.world()}}}};
  if (names_window(plant, window)) {
    bundle["window"] = {{"start_unix_ns", host_clock(plant, 0).unix_ns(window.start_ns)},
                        {"duration_ms", static_cast<double>(window.end_ns - window.start_ns) * 1e-6}};
  }
  std::vector<SimulatedFile> files;
  bundle["hosts"] = Json::array();
  for (int host = 0; host < plant.job.hosts; ++host) {
    const bool sampled = !holds(plant.samples_missing, host);
    bundle["hosts"].push_back(host_json(plant, host, sampled));
    if (!sampled) continue;
    files.push_back({folder + fmt::format("samples-{}.json.zst", plant.dialect.hosts[host]),
                     zstd_file(host_samples(plant, program, timeline, host, window, request.dropped_signals))});
  }
  bundle["ranks"] = Json::array();
  for (int rank = 0; rank < plant.job.world(); ++rank) {
    const bool wrote = !holds(plant.traces_missing, rank) && !holds(request.dropped_ranks, rank);
    const std::string name = fmt::format("rank{}.json.{}", rank, plant.dialect.gzip ? "gz" : "zst");
    bundle["ranks"].push_back(rank_json(plant, rank, wrote ? name : ""));
    if (!wrote) continue;
    const std::string text = kineto_trace(plant, program, timeline, rank, window);
    files.push_back({folder + name, plant.dialect.gzip ? gzip_file(text) : zstd_file(text)});
  }
  bundle["labels"] = {{"framework", plant.dialect.torch}, {"gpu", plant.job.gpu->name}};
  bundle["groups"] = Json::array();
  for (const Communicator& group : program.communicators) {
    bundle["groups"].push_back({{"name", group.name}, {"desc", group.desc}, {"ranks", group.ranks}});
  }
  files.push_back({folder + "bundle.json", bundle.dump(1) + "\n"});
  return files;
}

std::string truth_json(const Plant& plant, const SimulateRequest& request, const SimulatedTruth& truth) {
  const JobSpec& job = plant.job;
  const FaultOutcome healthy{
      .cause = "healthy", .accept = {}, .ranks_judged = false, .hosts_judged = false, .scope = "all", .benign = true};
  const auto one = [&](const FaultOutcome& fault) {
    Json json = {{"cause", fault.cause}};
    json["accept"] = fault.accept;
    json["ranks"] = fault.ranks_judged ? Json(fault.ranks) : Json(nullptr);
    Json hosts = Json::array();
    for (const int host : fault.hosts) hosts.push_back(plant.dialect.hosts[host]);
    json["hosts"] = fault.hosts_judged ? hosts : Json(nullptr);
    json["scope"] = fault.scope;
    json["function_regex"] = fault.function_regex.empty() ? Json(nullptr) : Json(fault.function_regex);
    return json;
  };
  const FaultOutcome& first = truth.faults.empty() ? healthy : truth.faults.front();
  Json json = {{"case", first.cause}, {"seed", job.seed}};
  json.update(one(first));
  json["healthy"] = std::ranges::all_of(truth.faults, &FaultOutcome::benign);
  json["blocked"] = std::ranges::any_of(truth.faults, &FaultOutcome::hangs);
  if (truth.faults.size() > 1) {
    json["faults"] = Json::array();
    for (const FaultOutcome& fault : truth.faults) json["faults"].push_back(one(fault));
  }
  const auto rounded = [](double value, double unit) { return std::round(value * unit) / unit; };
  json["slowdown"] = rounded(truth.slowdown, 1e4);
  json["step_ms"] = rounded(truth.step_ms, 1e3);
  json["healthy_step_ms"] = rounded(truth.healthy_step_ms, 1e3);
  json["lost_ms_per_step"] = rounded(truth.step_ms - truth.healthy_step_ms, 1e3);
  json["strength"] = rounded(truth.strength, 1e3);
  json["baseline"] = request.with_baseline ? Json("baseline") : Json(nullptr);
  json["layout"] = {
      {"shape", fmt::format("dp{} tp{} pp{} ep{}, {} hosts x {} {}, {}", job.layout.dp, job.layout.tp, job.layout.pp,
                            job.layout.ep, job.hosts, job.gpus_per_host, job.gpu->key, family_name(job.family))},
      {"dp", job.layout.dp},
      {"tp", job.layout.tp},
      {"pp", job.layout.pp},
      {"ep", job.layout.ep},
      {"hosts", job.hosts},
      {"gpus_per_host", job.gpus_per_host},
      {"gpu", job.gpu->key},
      {"family", family_name(job.family)},
      {"steps", job.steps},
      {"micro_batches", job.micro_batches},
      {"layers", job.stage_layers}};
  return json.dump(1) + "\n";
}

}  // namespace eroica
