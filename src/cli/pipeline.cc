#include "cli/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "base/robust.h"
#include "cli/trace_inputs.h"
#include "pattern/summarize.h"
#include "trace/byte_source.h"

namespace eroica {
namespace {

/// A pattern file of a hundred thousand ranks stays below this.
constexpr size_t kMaxPatternFileBytes = size_t{4} << 30;

Result<std::string> read_all(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file) return file.error();
  std::string bytes;
  while (true) {
    constexpr size_t kBlock = size_t{1} << 20;
    const size_t before = bytes.size();
    bytes.resize(before + kBlock);
    const Result<size_t> got = file.value()->read({bytes.data() + before, kBlock});
    if (!got) return got.error();
    bytes.resize(before + *got);
    if (*got == 0) return bytes;
    if (bytes.size() > kMaxPatternFileBytes) {
      return Error{Error::Kind::kInvalid, path + ": too large for a pattern file"};
    }
  }
}

/// What is left of a trace once it was reduced.
struct Reduced {
  std::string encoded;  ///< empty: the trace could not be used
  NameTable names;
  int32_t metadata_rank = -1;
  std::string problem;
};

Reduced reduce(const InputSet& inputs, const RankInput& input, const SampleSet& samples, const std::string& step_marker,
               ProgressSink& progress) {
  Reduced reduced;
  const Result<Trace> trace = read_trace(input, progress, reduced.problem);
  if (!trace) {
    reduced.problem = trace.error().message;
    return reduced;
  }
  reduced.metadata_rank = trace->metadata.rank;
  const int32_t rank = assumed_rank(inputs, input, trace->metadata.rank);
  reduced.encoded =
      encode_pattern(summarize(*trace, summarize_input(inputs, input, rank, samples, step_marker), reduced.names));
  return reduced;
}

std::vector<Reduced> reduce_all(const InputSet& inputs, const SampleSet& samples, const std::string& step_marker,
                                Executor& executor, ProgressSink& progress) {
  std::vector<Reduced> reduced(inputs.ranks.size());
  for_each_trace(inputs.ranks, executor, progress, [&](size_t i) {
    const RankInput& input = inputs.ranks[i];
    try {
      reduced[i] = reduce(inputs, input, samples, step_marker, progress);
    } catch (const std::bad_alloc&) {
      reduced[i] = {};
      reduced[i].problem = input.trace_path + ": not enough memory for this trace; fewer --jobs may help";
    }
  });
  return reduced;
}

/// A rank's pattern with where it came from.
struct Sourced {
  RankPattern pattern;
  std::string path;
};

Status add_traces(const InputSet& all_inputs, std::vector<Reduced> reduced, std::vector<Sourced>& patterns,
                  NameTable& names, std::vector<std::string>& notes) {
  InputSet inputs = all_inputs;
  inputs.ranks.clear();
  inputs.problems.clear();
  std::vector<Reduced> usable;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i].problem.empty()) notes.push_back(reduced[i].problem);
    if (reduced[i].encoded.empty()) continue;
    inputs.ranks.push_back(all_inputs.ranks[i]);
    usable.push_back(std::move(reduced[i]));
  }
  if (usable.empty()) return ok_status();
  std::vector<RankClaim> claims;
  for (size_t i = 0; i < usable.size(); ++i) claims.push_back({i, usable[i].metadata_rank});
  if (const Status status = resolve_ranks(inputs, claims); !status) return status.error();
  notes.insert(notes.end(), inputs.problems.begin(), inputs.problems.end());

  for (size_t i = 0; i < usable.size(); ++i) {
    Result<RankPattern> pattern = decode_pattern(usable[i].encoded);
    if (!pattern) return pattern.error();
    pattern->rank = inputs.ranks[i].rank;
    patterns.push_back({std::move(pattern.value()), inputs.ranks[i].trace_path});
    names.merge(usable[i].names);
  }
  return ok_status();
}

/// Where a rank's own window is not known: that of most others, of its host where there are any.
WindowSpec usual_window(const std::vector<Sourced>& patterns, const std::string& host) {
  std::vector<double> starts;
  std::vector<double> lengths;
  for (const bool of_host : {true, false}) {
    for (const auto& [pattern, path] : patterns) {
      if (of_host && pattern.host != host) continue;
      starts.push_back(
          static_cast<double>(pattern.window_start_unix_ns - patterns.front().pattern.window_start_unix_ns));
      lengths.push_back(static_cast<double>(pattern.window_ns));
    }
    if (!starts.empty()) break;
  }
  return {patterns.front().pattern.window_start_unix_ns + static_cast<int64_t>(median(starts)),
          static_cast<int64_t>(median(lengths))};
}

/// Ranks that the bundle names and of which there is no trace, with their samples.
std::vector<Sourced> without_traces(const InputSet& inputs, const SampleSet& samples,
                                    const std::vector<Sourced>& patterns) {
  std::vector<Sourced> found;
  if (patterns.empty()) return found;
  std::set<int32_t> seen;
  for (const Sourced& sourced : patterns) seen.insert(sourced.pattern.rank);
  for (const RankInput& rank : inputs.ranks) {
    if (rank.rank < 0 || !seen.insert(rank.rank).second) continue;
    const SummarizeInput input = summarize_input(inputs, rank, rank.rank, samples, "");
    const RankPattern pattern =
        summarize_samples(input, input.window ? *input.window : usual_window(patterns, rank.host));
    if (pattern.signals.empty()) continue;
    Result<RankPattern> wired = decode_pattern(encode_pattern(pattern));
    if (wired) found.push_back({std::move(wired.value()), rank.trace_path});
  }
  return found;
}

/// Damage in sample files belongs to no rank; the first one carries it, so that it travels in the patterns.
Status add_sample_defects(const Defects& defects, std::vector<Sourced>& patterns) {
  if (!defects.any() || patterns.empty()) return ok_status();
  RankPattern& first =
      std::ranges::min_element(patterns, {}, [](const Sourced& sourced) { return sourced.pattern.rank; })->pattern;
  first.import.defects.merge(defects);
  Result<RankPattern> again = decode_pattern(encode_pattern(first));
  if (!again) return again.error();
  first = std::move(again.value());
  return ok_status();
}

void add_pattern_file(const std::string& path, std::vector<Sourced>& patterns, NameTable& names,
                      std::vector<std::string>& notes) {
  Result<PatternFile> file = load_pattern_file(path);
  if (!file) {
    notes.push_back(about(path, file.error().message));
    return;
  }
  for (const std::string& problem : file->problems) notes.push_back(about(path, problem));
  for (RankPattern& pattern : file->patterns) patterns.push_back({std::move(pattern), path});
  names.merge(file->names);
}

/// How many functions the patterns refer to without their words.
size_t count_unnamed(const std::vector<Sourced>& patterns, const NameTable& names) {
  std::set<uint64_t> unnamed;
  for (const Sourced& sourced : patterns) {
    for (const uint64_t hash : referenced_names(sourced.pattern)) {
      if (!names.contains(hash)) unnamed.insert(hash);
    }
  }
  return unnamed.size();
}

/// Somebody who names rank3.eroica means its words too.
void add_neighbouring_names(const std::vector<std::string>& pattern_paths, std::vector<Sourced>& patterns,
                            NameTable& names, std::vector<std::string>& notes) {
  std::set<std::string> folders;
  for (const std::string& path : pattern_paths) folders.insert(std::filesystem::path(path).parent_path().string());
  for (const std::string& folder : folders) {
    if (count_unnamed(patterns, names) == 0) return;
    const std::string path = (std::filesystem::path(folder) / "names.eroica").string();
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure)) continue;
    std::vector<Sourced> none;
    add_pattern_file(path, none, names, notes);
  }
}

/// The same pattern may come twice (alone and in a pack); two different ones of a rank may not.
Status drop_doubles(std::vector<Sourced>& patterns) {
  std::ranges::stable_sort(patterns, {}, [](const Sourced& sourced) { return sourced.pattern.rank; });
  std::vector<Sourced> kept;
  for (Sourced& sourced : patterns) {
    if (kept.empty() || kept.back().pattern.rank != sourced.pattern.rank) {
      kept.push_back(std::move(sourced));
    } else if (!is_observed(sourced.pattern)) {
      continue;
    } else if (!is_observed(kept.back().pattern)) {
      kept.back() = std::move(sourced);
    } else if (encode_pattern(kept.back().pattern) != encode_pattern(sourced.pattern)) {
      return Error{Error::Kind::kAmbiguous,
                   fmt::format("two inputs claim to be rank {}: {} and {}; give only one of them", sourced.pattern.rank,
                               kept.back().path, sourced.path)};
    }
  }
  patterns = std::move(kept);
  return ok_status();
}

NameTable only_referenced(const NameTable& names, const std::vector<RankPattern>& patterns) {
  NameTable used;
  for (const RankPattern& pattern : patterns) {
    for (const uint64_t hash : referenced_names(pattern)) {
      if (const auto name = names.find(hash); name != names.end()) used.insert(*name);
    }
  }
  return used;
}

Error nothing_usable(const std::vector<std::string>& reasons) {
  std::string message = "no input could be used";
  for (const std::string& reason : reasons) message += "\n  " + reason;
  return {Error::Kind::kNotATrace, std::move(message)};
}

}  // namespace

Result<PatternFile> load_pattern_file(const std::string& path) {
  const Result<std::string> bytes = read_all(path);
  if (!bytes) return bytes.error();
  return read_pattern_file(*bytes, path);
}

std::vector<std::string> input_files(const InputSet& inputs) {
  std::vector<std::string> files = inputs.sample_paths;
  files.insert(files.end(), inputs.pattern_paths.begin(), inputs.pattern_paths.end());
  for (const RankInput& rank : inputs.ranks) {
    if (!rank.trace_path.empty()) files.push_back(rank.trace_path);
  }
  return files;
}

Result<Collected> collect_patterns(const InputSet& inputs, const std::string& step_marker, Executor& executor,
                                   ProgressSink& progress) {
  Collected collected;
  collected.notes = inputs.problems;
  NameTable names;
  std::vector<Sourced> patterns;

  const Samples samples = read_sample_files(inputs.sample_paths, collected.notes);
  std::vector<Reduced> reduced = reduce_all(inputs, samples.set, step_marker, executor, progress);
  if (const Status status = add_traces(inputs, std::move(reduced), patterns, names, collected.notes); !status) {
    return status.error();
  }
  if (const Status status = add_sample_defects(samples.defects, patterns); !status) return status.error();
  std::ranges::move(without_traces(inputs, samples.set, patterns), std::back_inserter(patterns));

  // Words from traces pass through their wire form as well.
  Result<NameTable> wired = decode_names(encode_names(names));
  if (!wired) return wired.error();
  names = std::move(wired.value());

  for (const std::string& path : inputs.pattern_paths) add_pattern_file(path, patterns, names, collected.notes);
  if (!inputs.pattern_paths.empty()) {
    add_neighbouring_names(inputs.pattern_paths, patterns, names, collected.notes);
    if (const size_t unnamed = count_unnamed(patterns, names); unnamed > 0) {
      collected.notes.push_back(fmt::format("names of {} functions are missing: names.eroica was not given", unnamed));
    }
  }

  if (std::ranges::none_of(patterns, is_observed, &Sourced::pattern)) return nothing_usable(collected.notes);
  if (const Status status = drop_doubles(patterns); !status) return status.error();
  for (Sourced& sourced : patterns) {
    std::vector<RankPattern>& kind = is_observed(sourced.pattern) ? collected.patterns : collected.unobserved;
    kind.push_back(std::move(sourced.pattern));
  }
  collected.names = only_referenced(names, collected.patterns);
  return collected;
}

}  // namespace eroica
