#include "cli/trace_inputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/kineto_reader.h"
#include "trace/sampled_python.h"
#include "trace/samples.h"

namespace eroica {
namespace {

uint64_t size_of(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  return failure ? 0 : size;
}

}  // namespace

std::string about(const std::string& path, const std::string& message) {
  return message.find(path) == std::string::npos ? path + ": " + message : message;
}

Result<Trace> read_trace(const std::string& path, ProgressSink& progress) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) return Error{file.error().kind, about(path, file.error().message)};
  ReadOptions options;
  uint64_t told = 0;
  options.progress = [&](uint64_t consumed) {
    if (consumed > told) progress.advance(consumed - std::exchange(told, consumed));
  };
  Result<Trace> trace = read_kineto(std::move(file.value()), options);
  if (!trace) return Error{trace.error().kind, about(path, trace.error().message)};
  if (trace->timed_events == 0) {
    const bool cut = trace->defects.of(Defect::kTruncated) > 0;
    return Error{Error::Kind::kNotATrace,
                 path + ": holds no timed event" + (cut ? "; the file is cut off" : "; was anything profiled?")};
  }
  return trace;
}

Result<Trace> read_trace(const RankInput& input, ProgressSink& progress, std::string& problem) {
  Result<Trace> trace = read_trace(input.trace_path, progress);
  if (!trace || input.stacks_path.empty()) return trace;
  const std::unique_ptr<ProgressSink> silent = terminal_progress(true);
  const Result<Trace> stacks = read_trace(input.stacks_path, *silent);
  if (!stacks) {
    problem = stacks.error().message;
  } else if (!add_sampled_python(*trace, *stacks)) {
    problem = input.stacks_path + ": passed over: the trace does not tell of the main thread, or has stacks already";
  }
  return trace;
}

Samples read_sample_files(const std::vector<std::string>& paths, std::vector<std::string>& notes) {
  Samples samples;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<ByteSource>> file = open_file(path);
    Result<SampleFile> read = file ? read_samples(std::move(file.value())) : Result<SampleFile>(file.error());
    if (!read) {
      notes.push_back(about(path, read.error().message));
      continue;
    }
    merge_samples(samples.set, read->samples);
    samples.defects.merge(read->defects);
  }
  return samples;
}

int32_t assumed_rank(const InputSet& inputs, const RankInput& input, int32_t metadata_rank) {
  if (input.rank >= 0) return input.rank;
  if (metadata_rank >= 0) return metadata_rank;
  const int32_t named = rank_from_file_name(input.trace_path);
  return named < 0 && inputs.ranks.size() == 1 ? 0 : named;
}

std::string machine_of(const InputSet& inputs, const std::string& host) {
  const auto found = std::ranges::find(inputs.hosts, host, &HostInput::name);
  return found == inputs.hosts.end() ? "" : found->machine;
}

namespace {

std::map<std::string, std::string> labels_of(const InputSet& inputs, const std::string& host) {
  const auto found = std::ranges::find(inputs.hosts, host, &HostInput::name);
  return found == inputs.hosts.end() ? std::map<std::string, std::string>() : found->labels;
}

}  // namespace

SummarizeInput summarize_input(const InputSet& inputs, const RankInput& input, int32_t rank, const SampleSet& samples,
                               const std::string& step_marker) {
  SummarizeInput result;
  result.rank = input;
  result.rank.rank = rank;
  result.machine = machine_of(inputs, input.host);
  result.host_labels = labels_of(inputs, input.host);
  result.job_id = inputs.job_id;
  result.world_size = inputs.world_size;
  result.window = inputs.window;
  result.groups = inputs.groups;
  result.samples = &samples;
  result.step_marker = step_marker;
  return result;
}

void for_each_trace(const std::vector<RankInput>& ranks, Executor& executor, ProgressSink& progress,
                    const std::function<void(size_t)>& body) {
  std::vector<std::pair<uint64_t, size_t>> order;
  uint64_t total = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].trace_path.empty()) continue;
    order.emplace_back(size_of(ranks[i].trace_path), i);
    total += order.back().first;
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [](const auto& entry) { return entry.first; });
  progress.begin(total, order.size());
  executor.parallel_for(order.size(), [&](size_t k) {
    body(order[k].second);
    progress.file_done();
  });
  progress.end();
}

}  // namespace eroica
