#include "simulate/pattern_packs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pattern/pattern_file.h"
#include "pattern/summarize.h"
#include "pattern/wire.h"
#include "simulate/random.h"
#include "trace/kineto_reader.h"
#include "trace/samples.h"

namespace eroica {
namespace {

constexpr int kGpusPerHost = 8;
constexpr size_t kFunctions = 8;
constexpr size_t kHardware = 3;
constexpr size_t kInstances = 0;
constexpr size_t kSteps = 6;

const SimulatedFile* file_of(const Simulated& job, std::string_view path) {
  const auto found = std::ranges::find(job.files, path, &SimulatedFile::path);
  return found == job.files.end() ? nullptr : &*found;
}

/// Reduces one rank of the small job as `eroica summarize` would.
Result<RankPattern> reduced(const Simulated& job, int rank, NameTable& names) {
  const nlohmann::json bundle = nlohmann::json::parse(file_of(job, "bundle.json")->bytes);
  const auto& entry = bundle["ranks"][rank];
  if (!entry.contains("trace")) return Error{Error::Kind::kInvalid, "the template's rank wrote no trace"};
  Result<Trace> trace = read_kineto(memory_source(file_of(job, entry["trace"].get<std::string>())->bytes));
  if (!trace) return trace.error();
  SampleSet samples;
  const std::string host = entry["host"];
  if (const SimulatedFile* file = file_of(job, fmt::format("samples-{}.json.zst", host)); file != nullptr) {
    Result<SampleFile> read = read_samples(memory_source(file->bytes));
    if (!read) return read.error();
    merge_samples(samples, read->samples);
  }
  SummarizeInput input;
  input.rank.rank = rank;
  input.rank.host = host;
  input.rank.gpu = entry["gpu"];
  input.job_id = bundle["job"]["id"];
  input.samples = &samples;
  RankPattern pattern = summarize(*trace, input, names);
  return pattern;
}

bool tells_of_device_or_process(const std::string& entity) {
  return entity.find("/gpu ") != std::string::npos ||
         (entity.starts_with("rank ") && entity.find('/') == std::string::npos);
}

/// Keeps what tells most, so that a million of them can be written and read.
void trim(RankPattern& pattern, int world) {
  while (pattern.functions.size() > kFunctions) {
    const FunctionPattern& left = pattern.functions.back();
    FunctionPattern& rest = pattern.rest[static_cast<size_t>(left.kind)];
    rest.kind = left.kind;
    rest.executions += left.executions;
    rest.total_ns += left.total_ns;
    rest.self_ns += left.self_ns;
    rest.exposed_ns += left.exposed_ns;
    rest.bytes += left.bytes;
    pattern.functions.pop_back();
  }
  for (FunctionPattern& function : pattern.functions) {
    if (function.hardware.size() > kHardware) function.hardware.resize(kHardware);
  }
  // Lists of a million ranks would be most of a pattern; sizes stay.
  for (GroupPattern& group : pattern.groups) {
    if (group.size == pattern.world_size || group.desc == "default_pg") group.size = world;
    group.ranks.clear();
  }
  std::erase_if(pattern.signals,
                [](const SignalUse& signal) { return signal.mean == 0 || !tells_of_device_or_process(signal.entity); });
  for (FunctionPattern& function : pattern.functions) function.step_exposed_us.clear();
  for (CollectiveSummary& collective : pattern.collectives) collective.step_total_us.clear();
  if (pattern.steps.size() > kSteps) pattern.steps.resize(kSteps);
  if (pattern.instances.size() > kInstances) pattern.instances.resize(kInstances);
  pattern.world_size = world;
}

/// The template's rank and devices, so that entities can be renamed.
struct Stamp {
  std::string rank, gpu, host;
};

std::string renamed(const std::string& entity, const Stamp& from, const Stamp& to) {
  const auto moves = [&](const std::string& a, const std::string& b) -> std::optional<std::string> {
    if (!entity.starts_with(a) || (entity.size() > a.size() && entity[a.size()] != '/')) return std::nullopt;
    return b + entity.substr(a.size());
  };
  if (auto name = moves(from.gpu, to.gpu)) return *name;
  if (auto name = moves(from.rank, to.rank)) return *name;
  if (auto name = moves(from.host, to.host)) return *name;
  return entity;
}

Stamp stamp(const std::string& host, int rank, int gpu) {
  return {fmt::format("rank {}", rank), fmt::format("host {}/gpu {}", host, gpu), fmt::format("host {}", host)};
}

std::string host_name(int rank) { return fmt::format("n{:06}", rank / kGpusPerHost); }

/// Another rank like the template: a little faster or slower everywhere, on its own host and GPU.
void restamp(RankPattern& out, const RankPattern& like, int rank, uint64_t seed) {
  Random random(seed, "pack", static_cast<uint64_t>(rank));
  const double speed = 1 + std::clamp(0.004 * random.normal(), -0.012, 0.012);
  out.rank = rank;
  out.host = host_name(rank);
  out.gpu = rank % kGpusPerHost;
  const Stamp from = stamp(like.host, like.rank, like.gpu);
  const Stamp to = stamp(out.host, rank, out.gpu);
  for (size_t i = 0; i < out.functions.size(); ++i) {
    FunctionPattern& function = out.functions[i];
    const FunctionPattern& model = like.functions[i];
    const double factor = speed + 0.003 * (random.uniform() - 0.5);
    const auto scale = [&](int64_t ns) { return static_cast<int64_t>(static_cast<double>(ns) * factor); };
    function.total_ns = scale(model.total_ns);
    function.self_ns = scale(model.self_ns);
    function.exposed_ns = scale(model.exposed_ns);
    for (size_t k = 0; k < function.hardware.size(); ++k) {
      function.hardware[k].entity = renamed(model.hardware[k].entity, from, to);
      function.hardware[k].mean = model.hardware[k].mean * (1 + 0.02 * (random.uniform() - 0.5));
    }
  }
  for (size_t i = 0; i < out.signals.size(); ++i) out.signals[i].entity = renamed(like.signals[i].entity, from, to);
}

struct Templates {
  RankPattern usual;
  RankPattern faulty;
  bool has_fault = false;
  NameTable names;
};

Result<Templates> make_templates(const PackRequest& request, SimulatedTruth& truth, std::string& truth_text) {
  const Result<Simulated> job = simulate(request.job);
  if (!job) return job.error();
  truth = job->truth;
  truth_text = file_of(*job, "truth.json")->bytes;
  Templates templates;
  const std::vector<int> bad = truth.faults.empty() ? std::vector<int>{} : truth.faults.front().ranks;
  int good = 0;
  while (std::ranges::find(bad, good) != bad.end()) ++good;
  Result<RankPattern> usual = reduced(*job, good, templates.names);
  if (!usual) {  // every rank is at fault
    good = 0;
    usual = reduced(*job, good, templates.names);
  }
  if (!usual) return usual.error();
  templates.usual = std::move(usual.value());
  trim(templates.usual, request.ranks);
  if (!bad.empty()) {
    Result<RankPattern> faulty = reduced(*job, bad.front(), templates.names);
    if (!faulty) return faulty.error();
    templates.faulty = std::move(faulty.value());
    trim(templates.faulty, request.ranks);
    templates.has_fault = true;
  }
  return templates;
}

/// One in some thousands.
std::vector<int> faulty_ranks(const PackRequest& request) {
  Random random(request.job.seed, "faulty ranks");
  std::vector<int> ranks;
  const int count = std::max(1, request.ranks / 50'000);
  while (static_cast<int>(ranks.size()) < count) {
    const int rank = random.integer(0, request.ranks - 1);
    if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace

Result<PackSummary> write_packs(const PackRequest& request, const PackSink& sink) {
  SimulatedTruth truth;
  std::string truth_text;
  Result<Templates> templates = make_templates(request, truth, truth_text);
  if (!templates) return templates.error();
  PackSummary summary;
  if (templates->has_fault) summary.faulty = faulty_ranks(request);
  RankPattern usual = templates->usual;
  RankPattern faulty = templates->faulty;
  for (int first = 0; first < request.ranks; first += request.ranks_per_pack) {
    std::string pack;
    const int end = std::min(first + request.ranks_per_pack, request.ranks);
    for (int rank = first; rank < end; ++rank) {
      const bool bad = std::ranges::binary_search(summary.faulty, rank);
      RankPattern& pattern = bad ? faulty : usual;
      restamp(pattern, bad ? templates->faulty : templates->usual, rank, request.job.seed);
      pack += frame_record(RecordType::kPattern, encode_pattern(pattern));
    }
    if (Status status = sink(fmt::format("pack-{:05}.eroica", first / request.ranks_per_pack), pack); !status)
      return status.error();
    ++summary.packs;
  }
  if (Status status = sink("names.eroica", frame_record(RecordType::kNames, encode_names(templates->names))); !status)
    return status.error();
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(truth_text);
  if (templates->has_fault) {
    json["ranks"] = summary.faulty;
    json["hosts"] = nlohmann::ordered_json::array();
    for (const int rank : summary.faulty) json["hosts"].push_back(host_name(rank));
  }
  json["patterns"] = request.ranks;
  if (Status status = sink("truth.json", json.dump(1) + "\n"); !status) return status.error();
  return summary;
}

}  // namespace eroica
