#include "cli/simulate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>

#include "cli/logging.h"
#include "cli/options.h"
#include "cli/output.h"
#include "simulate/pattern_packs.h"
#include "simulate/simulate.h"

namespace eroica {
namespace {

constexpr const char* kExamples =
    "Writes a bundle of a job that never ran: traces and samples that 'eroica analyze' takes, and truth.json.\n"
    "The same arguments give the same bytes.\n"
    "\n"
    "Examples:\n"
    "  eroica simulate --seed 7 --out job/                                   a healthy job\n"
    "  eroica simulate --seed 7 --fault gpu.thermal_throttle:0.6@3 --out job/\n"
    "  eroica simulate --seed 9 --layout dp=2,tp=2,pp=2 --fault nic.slow_link@host1 --out job/\n"
    "  eroica simulate --list-faults";

Error wrong(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

/// "dp=2,tp=2,pp=1,ep=1"
Result<Layout> parse_layout(const std::string& text) {
  Layout layout;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    int value = 0;
    const char* digits = part.c_str() + std::min<size_t>(3, part.size());
    const auto [stop, error] = std::from_chars(digits, part.c_str() + part.size(), value);
    int* target = part.starts_with("dp=")   ? &layout.dp
                  : part.starts_with("tp=") ? &layout.tp
                  : part.starts_with("pp=") ? &layout.pp
                  : part.starts_with("ep=") ? &layout.ep
                                            : nullptr;
    if (target == nullptr || error != std::errc() || *stop != '\0' || value < 1 || value > 64) {
      return wrong(fmt::format("--layout: '{}' is not of the form dp=2,tp=2,pp=1,ep=1", part));
    }
    *target = value;
  }
  if (layout.dp % layout.ep != 0) return wrong("--layout: ep must divide dp");
  if (layout.world() > 64) return wrong("--layout: at most 64 ranks with traces; --format patterns goes further");
  return layout;
}

Result<SimulateRequest> request_of(const SimulateOptions& options) {
  SimulateRequest request;
  request.seed = options.seed;
  for (const std::string& text : options.faults) {
    Result<FaultWish> wish = parse_fault(text);
    if (!wish) return wish.error();
    request.faults.push_back(std::move(wish.value()));
  }
  if (options.strength >= 0) request.strength = options.strength;
  request.wishes.ranks = options.ranks;
  request.wishes.steps = options.steps;
  if (!options.layout.empty()) {
    const Result<Layout> layout = parse_layout(options.layout);
    if (!layout) return layout.error();
    request.wishes.layout = *layout;
  }
  request.dropped_signals = options.dropped_signals;
  request.dropped_ranks = options.dropped_ranks;
  request.with_baseline = options.with_baseline;
  return request;
}

int list_faults() {
  std::string text;
  for (const FaultKind& kind : fault_kinds()) text += fmt::format("{:<30} {}\n", kind.id, kind.what);
  return write_stdout(text) ? kExitHealthy : kExitNoOutput;
}

Status write_files(const std::filesystem::path& folder, const std::vector<SimulatedFile>& files) {
  for (const SimulatedFile& file : files) {
    const std::filesystem::path path = folder / file.path;
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    if (failure)
      return Error{Error::Kind::kWrite, fmt::format("{}: {}", path.parent_path().string(), failure.message())};
    if (Status status = write_file(path.string(), file.bytes); !status) return status;
  }
  return ok_status();
}

int write_pattern_packs(const SimulateOptions& options, const SimulateRequest& job, Log& log) {
  PackRequest request;
  request.job = job;
  request.job.wishes.ranks = 0;
  if (options.ranks > 0) request.ranks = options.ranks;
  const std::filesystem::path folder = options.folder;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const Result<PackSummary> packs = write_packs(request, [&](std::string_view name, std::string_view bytes) {
    return write_file((folder / name).string(), bytes);
  });
  if (packs) {
    log.info(fmt::format("{}: {} ranks in {} packs", options.folder, request.ranks, packs->packs));
    return kExitHealthy;
  }
  log.error(packs.error().message);
  return packs.error().kind == Error::Kind::kWrite ? kExitNoOutput : kExitUsage;
}

}  // namespace

CLI::App* add_simulate(CLI::App& app, SimulateOptions& options) {
  CLI::App* command = app.add_subcommand("simulate", "Write a bundle of a synthetic job, healthy or with faults");
  command->add_option("--seed", options.seed, "Draws everything that is not given")->type_name("N")->group("Job");
  command->add_option("--fault", options.faults, "ID[:strength][:moving][:every=N][@rank or host]; may be repeated")
      ->type_name("FAULT")
      ->allow_extra_args(false)
      ->group("Job");
  command->add_option("--strength", options.strength, "Of faults that name none: 0 mild to 1 strong")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1.0))
      ->group("Job");
  auto* ranks = command->add_option("--ranks", options.ranks, "Ranks of the job")
                    ->type_name("N")
                    ->check(CLI::Range(1, 2'000'000))
                    ->group("Job");
  command->add_option("--layout", options.layout, "Such as dp=2,tp=2,pp=2,ep=1")
      ->type_name("LAYOUT")
      ->excludes(ranks)
      ->group("Job");
  command->add_option("--steps", options.steps, "Steps in the window")
      ->type_name("N")
      ->check(CLI::Range(3, 400))
      ->group("Job");
  command->add_option("--out", options.folder, "Folder to write into; made where it is missing")
      ->type_name("DIR")
      ->group("Output");
  command->add_option("--format", options.format, "bundle (default) or patterns")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"bundle", "patterns"}))
      ->group("Output");
  command->add_option("--drop-signal", options.dropped_signals, "Leave out metrics that match; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false)
      ->group("Output");
  command->add_option("--drop-rank", options.dropped_ranks, "This rank writes no trace; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false)
      ->group("Output");
  command->add_flag("--with-baseline", options.with_baseline, "Also the job without its faults, in baseline/")
      ->group("Output");
  command->add_flag("--list-faults", options.list_faults, "Say which faults there are");
  command->footer(kExamples);
  return command;
}

int run_simulate(const SimulateOptions& options, Log& log) {
  if (options.list_faults) return list_faults();
  if (options.folder.empty()) {
    log.error("--out says where to write the bundle");
    return kExitUsage;
  }
  const Result<SimulateRequest> request = request_of(options);
  if (!request) {
    log.error(request.error().message);
    return kExitUsage;
  }
  if (options.format == "patterns") return write_pattern_packs(options, *request, log);
  if (request->wishes.ranks > 64) {
    log.error("at most 64 ranks with traces; --format patterns goes further");
    return kExitUsage;
  }
  const Result<Simulated> job = simulate(*request);
  if (!job) {
    log.error(job.error().message);
    return kExitUsage;
  }
  if (const Status status = write_files(options.folder, job->files); !status) {
    log.error(status.error().message);
    return kExitNoOutput;
  }
  const SimulatedTruth& truth = job->truth;
  log.info(fmt::format("{}: {:.3f} ms a step, {:.3f} without faults, slowdown {:.4f}", options.folder, truth.step_ms,
                       truth.healthy_step_ms, truth.slowdown));
  return kExitHealthy;
}

}  // namespace eroica
