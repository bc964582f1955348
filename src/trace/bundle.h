#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace eroica {

/// The window as bundle.json names it.
struct WindowSpec {
  int64_t start_unix_ns = 0;
  int64_t duration_ns = 0;
};

struct HostInput {
  std::string name;
  std::string machine;  ///< the kernel it shares with other hosts; empty = itself
  /// Members of an object under their own keys ("env.NCCL_IB_HCA"), what is nested deeper as compact JSON text.
  std::map<std::string, std::string> labels;
};

/// What told an input's rank.
enum class RankSource {
  kUnknown,
  kBundle,    ///< bundle.json
  kRankFrom,  ///< --rank-from
  kMetadata,  ///< the trace's distributedInfo
  kFileName,
  kOnlyTrace,  ///< nothing told it; the only trace is taken for rank 0
};

/// Sequence numbers of a group's collectives as torch's flight recorder on one rank had them, −1 = none yet.
struct GroupCount {
  std::string group;  ///< name
  int64_t last_enqueued = -1;
  int64_t last_completed = -1;
};

/// What a rank's probe read at an edge of the window.
struct WindowEdge {
  int64_t unix_ns = 0;       ///< when
  int64_t step = 0;          ///< the last one that had ended, 0 = none
  int64_t step_unix_ns = 0;  ///< … when
  std::vector<GroupCount> groups;
};

struct WindowEdges {
  std::optional<WindowEdge> start;
  std::optional<WindowEdge> end;
};

struct RankInput {
  int32_t rank = -1;  ///< −1: not known before the trace was read
  RankSource rank_source = RankSource::kUnknown;
  std::string host;  ///< empty = unknown
  int32_t gpu = -1;
  int64_t pid = -1;
  std::string trace_path;                     ///< empty: the rank wrote none
  std::string stacks_path;                    ///< sampled Python functions that belong to the trace; empty: none
  std::map<std::string, std::string> labels;  ///< as a host's
  WindowEdges edges;
};

/// What is to be analysed: a bundle folder, a bare folder of traces, single files, or pattern files.
struct InputSet {
  std::string job_id;
  int32_t world_size = -1;
  std::optional<WindowSpec> window;
  std::vector<HostInput> hosts;
  std::vector<RankInput> ranks;  ///< in rank order where known, else by path
  std::vector<ProcessGroup> groups;
  std::vector<std::string> sample_paths;   ///< each once
  std::vector<std::string> pattern_paths;  ///< *.eroica files (by content), each once
  std::vector<std::string> problems;       ///< files passed over, each with why and what to do
};

struct DiscoverOptions {
  std::string rank_from;  ///< regular expression with one group that captures the rank from a path; empty = built-in
};

/// Looks at the paths and lists what is to be read, without reading the traces themselves. A path may be a bundle
/// folder, its bundle.json, a folder of traces, a trace, a sample file or a pattern file. Folders are searched two
/// levels deep; what is found there is told by its content, and JSON that is no trace is passed over silently. A file
/// that is reached twice (by name, link or hard link) is read once. Where a folder holds traces and pattern files the
/// traces are taken. What cannot be used stands in InputSet::problems.
///
/// Only bundle.json and --rank-from set ranks here: what file names tell waits for resolve_ranks, since the traces
/// know better.
///
/// Errors: nothing found (kNotFound, says where it looked, for what, and what was passed over), bundle.json that
/// breaks its contract (names the key), a bad --rank-from (kInvalid), and kAmbiguous, listing what was found, for two
/// files that by bundle.json or --rank-from claim one rank, a trace that stands beside itself uncompressed, or
/// several bundles.
Result<InputSet> discover(const std::vector<std::string>& paths, const DiscoverOptions& options);

/// What resolve_ranks needs to know of one trace that was read.
struct RankClaim {
  size_t input = 0;  ///< index in InputSet::ranks
  int32_t metadata_rank = -1;
};

/// Gives every trace that was read its rank: bundle.json, then --rank-from, then distributedInfo, then the file name;
/// a single trace that says nothing is rank 0. The inputs keep their places. Inputs without a claim (not read, or
/// without a trace) are left as they are. A trace that contradicts bundle.json is a problem, not an error.
/// Error kAmbiguous, listing files with what they claim and how to help it (--rank-from, bundle.json), when two
/// traces claim one rank or one of several says nothing.
Status resolve_ranks(InputSet& inputs, const std::vector<RankClaim>& claims);

/// The rank that a file name tells, after the patterns of torch, Megatron, HTA and dynolog users; −1 = none.
///
/// "rank" and a number, in any case and with at most two of `_ - . = [ ] space` between them, where "rank" begins a
/// word: rank0.json, rank-3.json.gz, trace_rank_0003.json, rank0_iter16_18.json, [rank] 3.log.json. Words before it
/// that name another kind of rank (local, node, tp, pp, dp, cp, ep …) rule it out, "global" and "world" win; several
/// that differ tell nothing. "workerN" counts only as torch's tensorboard handler writes it: at the name's beginning
/// and before `.pt.trace.json`. Where the file's name says nothing, its folder and the folder above may, if their
/// name ends with the rank (rank_3/trace.json). Process ids (libkineto_activities_1074.json, host_1234.1699.pt.trace.
/// json), plurals (workers0.json, 4ranks.json) and bare numbers (3.json, r3.json) tell nothing.
int32_t rank_from_file_name(std::string_view path);

}  // namespace eroica
