#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/rank_list.h"
#include "base/saturate.h"
#include "cli/commands.h"
#include "cli/executor.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/trace_inputs.h"
#include "pattern/window.h"
#include "report/perfetto_export.h"

namespace eroica {
namespace {

/// A trace that is to be exported, kept until it was written.
struct Kept {
  RankInput input;
  Trace trace;
  std::string machine;
  WindowClip window{};
};
using AllKept = std::vector<std::unique_ptr<Kept>>;

bool is_wanted(const ExportOptions& options, int32_t rank) {
  return options.ranks.empty() || std::ranges::find(options.ranks, rank) != options.ranks.end();
}

/// Reads the traces of the ranks that are wanted; a trace whose rank its file name does not tell must be read to know.
AllKept read_wanted(InputSet& inputs, const ExportOptions& options, std::vector<std::string>& notes) {
  std::erase_if(inputs.ranks, [&](const RankInput& input) {
    return input.trace_path.empty() || (input.rank >= 0 && !is_wanted(options, input.rank));
  });
  ThreadExecutor executor(options.input.jobs == 0 ? available_cores() : options.input.jobs);
  const std::unique_ptr<ProgressSink> progress = terminal_progress(options.input.quiet);
  AllKept read(inputs.ranks.size());
  std::vector<std::string> problems(inputs.ranks.size());
  for_each_trace(inputs.ranks, executor, *progress, [&](size_t i) {
    const RankInput& input = inputs.ranks[i];
    try {
      Result<Trace> trace = read_trace(input, *progress, problems[i]);
      if (!trace) {
        problems[i] = trace.error().message;
        return;
      }
      const int32_t rank = assumed_rank(inputs, input, trace->metadata.rank);
      if (rank >= 0 && !is_wanted(options, rank)) return;
      std::vector<std::string> oddities;  // analyze tells them
      const WindowClip window = window_of(*trace, inputs.window, oddities);
      read[i] = std::make_unique<Kept>(Kept{input, std::move(trace.value()), machine_of(inputs, input.host), window});
    } catch (const std::bad_alloc&) {
      problems[i] = input.trace_path + ": not enough memory for this trace; --rank exports fewer ranks";
    }
  });
  AllKept kept;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!problems[i].empty()) notes.push_back(problems[i]);
    if (read[i] != nullptr) kept.push_back(std::move(read[i]));
  }
  return kept;
}

Status name_ranks(InputSet inputs, AllKept& kept, Log& log) {
  inputs.ranks.clear();
  inputs.problems.clear();
  std::vector<RankClaim> claims;
  for (const auto& one : kept) {
    claims.push_back({inputs.ranks.size(), one->trace.metadata.rank});
    inputs.ranks.push_back(one->input);
  }
  if (const Status status = resolve_ranks(inputs, claims); !status) return status.error();
  for (const std::string& problem : inputs.problems) log.warning(problem);
  for (size_t i = 0; i < kept.size(); ++i) kept[i]->input.rank = inputs.ranks[i].rank;
  std::ranges::sort(kept, {}, [](const auto& one) { return one->input.rank; });
  return ok_status();
}

/// Ranks that were asked for and are not there.
std::vector<int32_t> lacking(const ExportOptions& options, const AllKept& kept) {
  std::vector<int32_t> missing;
  for (const int32_t rank : options.ranks) {
    if (std::ranges::none_of(kept, [&](const auto& one) { return one->input.rank == rank; })) missing.push_back(rank);
  }
  return missing;
}

/// What tells a rank's clock from others: hosts may share a machine, and every machine may call itself localhost.
std::string clock_of(const Kept& kept, const std::string& host) {
  if (!kept.machine.empty()) return kept.machine;
  return host.starts_with("localhost") ? "" : host;
}

std::vector<ExportRank> export_ranks(const AllKept& kept) {
  std::vector<ExportRank> ranks;
  for (const auto& one : kept) {
    const std::string& host = one->input.host.empty() ? one->trace.metadata.host_name : one->input.host;
    ranks.push_back({.rank = one->input.rank,
                     .label = host,
                     .clock = clock_of(*one, host),
                     .trace = &one->trace,
                     .window_start_unix_ns = saturating_add(one->trace.base_unix_ns, one->window.start_ns),
                     .window_end_unix_ns = saturating_add(one->trace.base_unix_ns, one->window.end_ns)});
  }
  return ranks;
}

Result<PerfettoSummary> write_merged(const AllKept& kept, const ExportOptions& options, const SampleSet& samples) {
  PerfettoOptions how;
  how.from_ms = options.from_ms;
  how.to_ms = options.to_ms;
  how.gzip = options.output.ends_with(".gz");
  how.samples = &samples;
  if (is_stdout(options.output)) return export_perfetto(export_ranks(kept), how, write_stdout);
  Result<OutputFile> file = OutputFile::open(options.output);
  if (!file) return file.error();
  Result<PerfettoSummary> summary =
      export_perfetto(export_ranks(kept), how, [&](std::string_view bytes) { return file->write(bytes); });
  if (!summary) return summary;
  if (const Status status = file->commit(); !status) return status.error();
  return summary;
}

}  // namespace

int run_export(const ExportOptions& options, Log& log) {
  OrStatus<InputSet> found = find_inputs(options.input, log);
  if (const int* status = std::get_if<int>(&found)) return *status;
  auto& inputs = std::get<InputSet>(found);
  if (!is_stdout(options.output)) {
    if (!spares_inputs(options.output, inputs, options.input, log)) return kExitUsage;
    if (const Status writable = check_writable(options.output); !writable) {
      log.error(writable.error().message);
      return kExitNoOutput;
    }
  }
  if (inputs.ranks.empty()) {
    log.error("pattern files hold no events to export; give the traces that they were made of");
    return kExitNoInput;
  }

  std::vector<std::string> notes = inputs.problems;
  const Samples samples = read_sample_files(inputs.sample_paths, notes);
  AllKept kept = read_wanted(inputs, options, notes);
  for (const std::string& note : notes) log.warning(note);
  if (const Status status = kept.empty() ? ok_status() : name_ranks(inputs, kept, log); !status) {
    log.error(status.error().message);
    return kExitNoInput;
  }
  if (const std::vector<int32_t> missing = lacking(options, kept); !missing.empty()) {
    log.error(fmt::format("there is no trace of {}", rank_list(missing)));
    return kExitUsage;
  }
  if (kept.empty()) {
    log.error("no input could be used");
    return kExitNoInput;
  }

  const Result<PerfettoSummary> summary = write_merged(kept, options, samples.set);
  if (!summary) {
    log.error(summary.error().message);
    return summary.error().kind == Error::Kind::kInvalid ? kExitUsage : kExitNoOutput;
  }
  for (const std::string& note : summary->notes) log.info(note);
  for (const std::string& warning : summary->warnings) log.warning(warning);
  log.info(fmt::format("{}: {} events", options.output, summary->events));
  return kExitHealthy;
}

}  // namespace eroica
