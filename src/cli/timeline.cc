#include "cli/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "cli/trace_inputs.h"
#include "trace/byte_source.h"
#include "trace/file_probe.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeadBytes = size_t{64} << 10;
constexpr size_t kMostFiles = 8;  // of a folder that holds a timeline and what belongs to it

bool holds_timeline(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) return false;
  const std::unique_ptr<DecompressedSource> source = decompress(std::move(file.value()));
  std::string head(kHeadBytes, '\0');
  size_t filled = 0;
  while (filled < head.size()) {
    const Result<size_t> got = source->read(std::span(head).subspan(filled));
    if (!got || *got == 0) break;
    filled += *got;
  }
  return is_op_timeline(std::string_view(head).substr(0, filled));
}

/// Regular files of a folder, in order; empty: none, or so many that it is no timeline's folder.
std::vector<std::string> few_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  while (!failure && entries != fs::directory_iterator()) {
    std::error_code unknown;
    if (entries->is_regular_file(unknown)) files.push_back(entries->path().string());
    if (files.size() > kMostFiles) return {};
    entries.increment(failure);
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

OrStatus<std::string> find_timeline(const InputOptions& options, Log& log) {
  if (options.paths.size() != 1) return std::string();
  const std::string& path = options.paths.front();
  std::error_code failure;
  if (fs::is_regular_file(path, failure)) return holds_timeline(path) ? path : std::string();
  if (!fs::is_directory(path, failure)) return std::string();
  std::vector<std::string> found;
  std::vector<std::string> others;
  for (std::string& file : few_files(path)) (holds_timeline(file) ? found : others).push_back(std::move(file));
  if (found.empty()) return std::string();
  const bool traces = std::ranges::any_of(others, [](const std::string& file) {
    const FileKind kind = probe_file(file).kind;
    return kind == FileKind::kTrace || kind == FileKind::kSamples || kind == FileKind::kPattern;
  });
  if (traces) return std::string();
  if (found.size() == 1) return found.front();
  log.error(
      fmt::format("{} holds {} operation timelines; give one of them: {}", path, found.size(), fmt::join(found, ", ")));
  return kExitNoInput;
}

OrStatus<OpTimeline> load_timeline(const std::string& path, Log& log) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) {
    log.error(about(path, file.error().message));
    return kExitNoInput;
  }
  Result<OpTimeline> timeline = read_op_timeline(std::move(file.value()), path);
  if (!timeline) {
    log.error(about(path, timeline.error().message));
    return kExitNoInput;
  }
  return std::move(timeline.value());
}

std::string job_of_timeline(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.substr(0, name.find('.', 1));
}

}  // namespace eroica
