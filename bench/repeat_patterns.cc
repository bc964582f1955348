// Packs of real-size patterns: those of a few recorded ranks, as `eroica summarize` wrote them, again and again as
// other ranks on other hosts, 1,000 in a pack.
//
//   repeat_patterns RANKS OUT_FOLDER FILE.eroica...

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/executor.h"
#include "cli/output.h"
#include "cli/pipeline.h"
#include "pattern/wire.h"

namespace {

namespace fs = std::filesystem;
using eroica::NameTable;
using eroica::RankPattern;

constexpr int32_t kPackRanks = 1000;

struct Recorded {
  std::vector<RankPattern> patterns;  ///< by rank, from 0 on
  NameTable names;
};

int32_t highest_rank(const Recorded& recorded) {
  int32_t highest = 0;
  for (const RankPattern& pattern : recorded.patterns) highest = std::max(highest, pattern.rank);
  return highest;
}

/// "host node1/gpu 0" of the second repetition is "host node1-1/gpu 0"; "rank 2/worker 0" becomes "rank 6/worker 0".
std::string renamed(const std::string& entity, const RankPattern& from, const RankPattern& to) {
  const auto moved = [&](const std::string& before, const std::string& after) {
    const bool is_it = entity.starts_with(before) && (entity.size() == before.size() || entity[before.size()] == '/');
    return is_it ? after + entity.substr(before.size()) : std::string();
  };
  for (const std::string& text : {moved(fmt::format("rank {}", from.rank), fmt::format("rank {}", to.rank)),
                                  moved("host " + from.host, "host " + to.host)}) {
    if (!text.empty()) return text;
  }
  return entity;
}

/// The recorded rank as `rank` of a job of `world` ranks; its groups and peers are those of its own repetition.
RankPattern repeated(const RankPattern& from, int32_t rank, int32_t world) {
  RankPattern to = from;
  const int32_t shift = rank - from.rank;
  to.rank = rank;
  to.world_size = world;
  if (!from.host.empty()) to.host = fmt::format("{}-{}", from.host, shift);
  for (auto& function : to.functions) {
    for (auto& use : function.hardware) use.entity = renamed(use.entity, from, to);
  }
  for (auto& use : to.signals) use.entity = renamed(use.entity, from, to);
  for (auto& group : to.groups) {
    if (group.ranks.empty() && group.size == from.world_size) group.size = world;
    for (int32_t& member : group.ranks) member += shift;
  }
  for (auto& instance : to.instances) {
    if (instance.peer < 0) continue;
    const auto& members = from.groups[from.collectives[instance.summary].group].ranks;
    if (std::ranges::find(members, instance.peer) != members.end()) instance.peer += shift;
  }
  return to;
}

std::string pack(const Recorded& recorded, int32_t first, int32_t end, int32_t world) {
  const int32_t ranks = highest_rank(recorded) + 1;
  const auto count = static_cast<int32_t>(recorded.patterns.size());
  std::vector<std::string> encoded;
  for (int32_t i = first; i < end; ++i) {
    const RankPattern& from = recorded.patterns[static_cast<size_t>(i % count)];
    encoded.push_back(eroica::encode_pattern(repeated(from, from.rank + i / count * ranks, world)));
  }
  return eroica::pattern_file(encoded, {});
}

void write(const fs::path& path, const std::string& bytes) {
  if (const eroica::Status status = eroica::write_file(path, bytes); !status) {
    throw std::runtime_error(status.error().message);
  }
}

Recorded read(int count, char** paths) {
  Recorded recorded;
  for (int i = 0; i < count; ++i) {
    eroica::Result<eroica::PatternFile> file = eroica::load_pattern_file(paths[i]);
    if (!file) throw std::runtime_error(file.error().message);
    std::ranges::move(file->patterns, std::back_inserter(recorded.patterns));
    eroica::merge_names(recorded.names, file->names);
  }
  std::ranges::sort(recorded.patterns, {}, &RankPattern::rank);
  if (recorded.patterns.empty() || recorded.patterns.front().rank < 0) throw std::runtime_error("no ranks to repeat");
  return recorded;
}

void repeat(int32_t ranks, const fs::path& out, const Recorded& recorded) {
  fs::create_directories(out);
  write(out / "names.eroica", eroica::pattern_file({}, std::vector{eroica::encode_names(recorded.names)}));
  const auto packs = static_cast<size_t>((ranks + kPackRanks - 1) / kPackRanks);
  eroica::ThreadExecutor(eroica::available_cores()).parallel_for(packs, [&](size_t i) {
    const auto first = static_cast<int32_t>(i) * kPackRanks;
    write(out / fmt::format("pack-{:05}.eroica", i), pack(recorded, first, std::min(first + kPackRanks, ranks), ranks));
  });
}

}  // namespace

int main(int argc, char** argv) {
  int32_t ranks = 0;
  const bool is_number =
      argc > 3 && std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), ranks).ec == std::errc() && ranks > 0;
  if (!is_number) {
    fmt::print(stderr, "usage: {} RANKS OUT_FOLDER FILE.eroica...\n", argv[0]);
    return 64;
  }
  try {
    repeat(ranks, argv[2], read(argc - 3, argv + 3));
  } catch (const std::exception& failure) {
    fmt::print(stderr, "{}\n", failure.what());
    return 1;
  }
  return 0;
}
