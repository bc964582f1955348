#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/pattern_folder.h"

namespace eroica {
namespace {

/// Pattern files in the folder that this run does not replace.
std::set<std::string> other_files(const std::string& folder, const std::map<std::string, std::string>& files) {
  std::set<std::string> others;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".eroica" && name != kNamesFile && !files.contains(name)) others.insert(name);
  }
  return others;
}

}  // namespace

int run_summarize(const SummarizeOptions& options, Log& log) {
  OrStatus<InputSet> found = find_inputs(options.input, log);
  if (const int* status = std::get_if<int>(&found)) return *status;
  const auto& inputs = std::get<InputSet>(found);

  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  if (failure) {
    log.error(fmt::format("{}: cannot be made: {}", options.folder, failure.message()));
    return kExitNoOutput;
  }
  OrStatus<Collected> read = read_inputs(inputs, options.input, log);
  if (const int* status = std::get_if<int>(&read)) return *status;
  auto& collected = std::get<Collected>(read);

  const std::filesystem::path folder(options.folder);
  std::map<std::string, std::string> files = options.pack ? host_packs(collected) : rank_files(collected);
  for (const auto& [name, bytes] : files) {
    if (!spares_inputs((folder / name).string(), inputs, options.input, log)) return kExitUsage;
  }
  if (const std::set<std::string> others = other_files(options.folder, files); !others.empty()) {
    log.warning(fmt::format("{} holds other pattern files too, such as {}; 'eroica analyze {}' reads them as well",
                            options.folder, *others.begin(), options.folder));
    // Several hosts may write into one folder, each with its own words.
    if (!options.pack) add_names((folder / kNamesFile).string(), collected, files);
  }
  for (const auto& [name, bytes] : files) {
    const std::string path = (folder / name).string();
    if (const Status status = write_file(path, bytes); !status) {
      log.error(status.error().message);
      return kExitNoOutput;
    }
    log.info(fmt::format("{}: {} bytes", path, bytes.size()));
  }
  return kExitHealthy;
}

}  // namespace eroica
