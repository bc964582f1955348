#include "cli/inputs.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/executor.h"
#include "cli/output.h"
#include "trace/rank_from.h"

namespace eroica {

namespace {

std::string in_role(const std::string& role, const std::string& message) {
  return role.empty() ? message : role + ": " + message;
}

}  // namespace

OrStatus<InputSet> find_inputs(const InputOptions& options, Log& log, const std::string& role) {
  if (!options.rank_from.empty()) {
    const Result<RankFrom> expression = RankFrom::compile(options.rank_from);
    if (!expression) {
      log.error(expression.error().message);
      return kExitUsage;
    }
  }
  Result<InputSet> inputs = discover(options.paths, DiscoverOptions{options.rank_from});
  if (!inputs) {
    log.error(in_role(role, inputs.error().message));
    return kExitNoInput;
  }
  log.info(in_role(role, fmt::format("{} traces, {} sample files, {} pattern files", inputs->ranks.size(),
                                     inputs->sample_paths.size(), inputs->pattern_paths.size())));
  return std::move(inputs.value());
}

OrStatus<Collected> read_inputs(const InputSet& inputs, const InputOptions& options, Log& log,
                                const std::string& role) {
  ThreadExecutor executor(options.jobs == 0 ? available_cores() : options.jobs);
  const std::unique_ptr<ProgressSink> progress = terminal_progress(options.quiet);
  Result<Collected> collected = collect_patterns(inputs, options.step_marker, executor, *progress);
  if (!collected) {
    log.error(in_role(role, collected.error().message));
    return kExitNoInput;
  }
  for (std::string& note : collected->notes) note = in_role(role, note);
  for (const std::string& note : collected->notes) log.warning(note);
  return std::move(collected.value());
}

bool spares_inputs(const std::string& output, const InputSet& inputs, const InputOptions& options, Log& log) {
  std::vector<std::string> files = input_files(inputs);
  for (const std::string& path : options.paths) {
    files.push_back(path);
    files.push_back((std::filesystem::path(path) / "bundle.json").string());
  }
  const std::string input = same_file_among(output, files);
  if (input.empty()) return true;
  log.error(fmt::format("{} is an input; give another name for the output", input));
  return false;
}

}  // namespace eroica
