#include "cli/step_records_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/robust.h"
#include "cli/kept_records.h"
#include "steps/record_log.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uintmax_t kMostBytes = uintmax_t{1} << 28;
constexpr double kLongestStepSeconds = 1e6;
constexpr const char* kStepsOfFolder = "steps.json";
constexpr int64_t kStartNs = 1'000'000'000;

Error unusable(const std::string& name, std::string_view why) {
  return {Error::Kind::kNotATrace, fmt::format("{}: {}", name, why)};
}

Result<RecordedSteps> from_log(std::string_view bytes, const std::string& name) {
  Result<ReadRecords> read = read_record_log(bytes);
  if (!read) return Error{read.error().kind, fmt::format("{}: {}", name, read.error().message)};
  if (read->records.empty()) return unusable(name, "holds no step record");
  RecordedSteps steps;
  steps.job = read->job;
  steps.problems = std::move(read->problems);
  const int64_t first = std::ranges::min(read->records, {}, &StepRecord::unix_ns).unix_ns;
  steps.arrivals.reserve(read->records.size());
  // Records are kept as they came in; time that a clock was set back by is none that passed.
  int64_t now_ns = kStartNs;
  for (const StepRecord& record : read->records) {
    const double since = static_cast<double>(record.unix_ns) - static_cast<double>(first);
    now_ns = std::max(now_ns, kStartNs + static_cast<int64_t>(std::min(since, 4e18)));
    steps.arrivals.push_back({record, now_ns});
  }
  return steps;
}

Result<std::vector<std::vector<double>>> lists(const Json& json, std::string_view key, double most,
                                               const std::string& name) {
  std::vector<std::vector<double>> all;
  if (!json.is_array() || json.empty()) return unusable(name, fmt::format("'{}' must be a list of lists", key));
  for (const Json& list : json) {
    if (!list.is_array()) return unusable(name, fmt::format("'{}' must be a list of lists", key));
    std::vector<double>& values = all.emplace_back();
    values.reserve(list.size());
    for (const Json& value : list) {
      const double number = value.is_number() ? value.get<double>() : -1;
      if (!(number >= 0 && number <= most)) {
        return unusable(name, fmt::format("'{}' must hold numbers from 0 to {}", key, most));
      }
      values.push_back(number);
    }
  }
  return all;
}

/// When each rank's first step began, so that ranks end like steps at like times: they do not start together. The
/// earliest is 0.
std::vector<double> starts_of(const std::vector<std::vector<double>>& seconds) {
  std::vector<double> starts(seconds.size(), 0);
  for (size_t rank = 1; rank < seconds.size(); ++rank) {
    std::vector<double> ahead;
    double difference = 0;
    for (size_t step = 0; step < std::min(seconds[0].size(), seconds[rank].size()); ++step) {
      difference += seconds[0][step] - seconds[rank][step];
      ahead.push_back(difference);
    }
    starts[rank] = median(ahead);
  }
  const double earliest = starts.empty() ? 0 : std::ranges::min(starts);
  for (double& start : starts) start -= earliest;
  return starts;
}

Result<RecordedSteps> from_json(std::string_view bytes, const std::string& name) {
  const Json json = Json::parse(bytes, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("step_seconds")) {
    return unusable(name, "neither a file of step records nor JSON with \"step_seconds\"");
  }
  const auto seconds = lists(json["step_seconds"], "step_seconds", kLongestStepSeconds, name);
  if (!seconds) return seconds.error();
  std::vector<std::vector<double>> fetches;
  if (json.contains("fetches")) {
    auto read = lists(json["fetches"], "fetches", 1e9, name);
    if (!read) return read.error();
    fetches = std::move(*read);
  }
  RecordedSteps steps;
  if (json.contains("job") && json["job"].is_string()) steps.job = json["job"].get<std::string>();
  if (json.contains("onset_step")) {
    const Json& onset = json["onset_step"];
    if (!onset.is_null() && !onset.is_number_integer()) return unusable(name, "'onset_step' must be a number or null");
    steps.healthy = onset.is_null();
    if (!onset.is_null()) steps.onset_step = onset.get<int64_t>();
  }
  const std::vector<double> starts = starts_of(*seconds);
  for (size_t rank = 0; rank < seconds->size(); ++rank) {
    const std::vector<double>& times = (*seconds)[rank];
    double now = starts[rank];
    const auto add = [&](int64_t step, uint32_t fetched) {
      const int64_t at = kStartNs + static_cast<int64_t>(std::min(now, 9e9) * 1e9);
      steps.arrivals.push_back(
          {{.rank = static_cast<int32_t>(rank), .step = step, .unix_ns = at, .monotonic_ns = at, .fetches = fetched},
           at});
    };
    for (size_t step = 0; step < times.size(); ++step) {
      const bool known = rank < fetches.size() && step < fetches[rank].size();
      now += times[step];
      add(static_cast<int64_t>(step), known ? static_cast<uint32_t>(fetches[rank][step]) : 1);
    }
  }
  if (steps.arrivals.empty()) return unusable(name, "holds no steps");
  std::ranges::stable_sort(steps.arrivals, {}, [](const RecordedSteps::Arrival& arrival) { return arrival.now_ns; });
  return steps;
}

}  // namespace

Result<RecordedSteps> parse_recorded_steps(std::string_view bytes, const std::string& name) {
  Result<RecordedSteps> steps = is_record_log(bytes) ? from_log(bytes, name) : from_json(bytes, name);
  if (steps && steps->job.empty()) steps->job = fs::path(name).stem().string();
  return steps;
}

std::vector<std::string> step_record_files(const std::string& given) {
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_directory(given, error) && !fs::exists(fs::path(given) / kStepsOfFolder, error)) {
    for (fs::directory_iterator entry(given, error), end; !error && entry != end; entry.increment(error)) {
      if (is_kept_records(entry->path().filename().string())) files.push_back(entry->path().string());
    }
    std::ranges::sort(files);
  }
  if (files.empty()) files.push_back(given);
  return files;
}

Result<RecordedSteps> read_recorded_steps(const std::string& given) {
  std::error_code error;
  fs::path path(given);
  if (fs::is_directory(path, error)) path /= kStepsOfFolder;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Error{Error::Kind::kNotFound, path.string() + ": no such file"};
  if (!fs::is_regular_file(status)) return Error{Error::Kind::kUnreadable, path.string() + ": is no regular file"};
  const uintmax_t size = fs::file_size(path, error);
  if (error || size > kMostBytes) {
    return Error{Error::Kind::kUnreadable, path.string() + ": larger than 256 MiB, which no file of step records is"};
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) return Error{Error::Kind::kUnreadable, fmt::format("{}: {}", path.string(), std::strerror(errno))};
  const bool by_folder = path.filename() == kStepsOfFolder && path.has_parent_path();
  Result<RecordedSteps> steps = parse_recorded_steps(bytes, path.string());
  if (steps && by_folder && steps->job == "steps") steps->job = path.parent_path().filename().string();
  return steps;
}

}  // namespace eroica
