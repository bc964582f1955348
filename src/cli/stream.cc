#include "cli/stream.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "cli/pipeline.h"
#include "cli/trace_inputs.h"
#include "pattern/pattern_file.h"
#include "pattern/wire.h"

namespace eroica {
namespace {

constexpr size_t kSampleRanks = 128;
constexpr size_t kMostSampleRanks = 256;  // with those that were asked for
constexpr size_t kMostFilesReadAgain = 64;
constexpr uint64_t kChunkBytes = uint64_t{4} << 20;
constexpr uint64_t kFewBytes = uint64_t{1} << 20;  // patterns take more than 512 bytes each
constexpr size_t kManyRanks = 16'384;
constexpr size_t kFewerUses = 40;  // functions of one rank, in jobs of so many
constexpr size_t kMostNotes = 200;

/// A rank's pattern as it lay in its file.
struct EncodedPattern {
  int32_t rank;
  std::string bytes;
};

/// Some of a sequence of unknown length: every n-th, with n doubled whenever there are too many.
class EvenSample {
 public:
  explicit EvenSample(size_t most) : most_(most) {}
  void offer(int32_t rank, std::string_view bytes) {
    if (most_ > 0 && offered_ % stride_ == 0) {
      if (kept_.size() == most_) {
        std::vector<EncodedPattern> fewer;
        for (size_t i = 0; i < kept_.size(); i += 2) fewer.push_back(std::move(kept_[i]));
        kept_ = std::move(fewer);
        stride_ *= 2;
      }
      if (offered_ % stride_ == 0 && kept_.size() < most_) kept_.push_back({rank, std::string(bytes)});
    }
    ++offered_;
  }
  std::vector<EncodedPattern> take() { return std::move(kept_); }

 private:
  size_t most_;
  size_t offered_ = 0;
  size_t stride_ = 1;
  std::vector<EncodedPattern> kept_;
};

struct Seen {
  int32_t rank;
  PatternPlace place;
};

/// What some of the files hold.
struct Part {
  explicit Part(size_t most_uses) : builder(most_uses) {}

  JobBuilder builder;
  NameTable names;
  ImportSection import;
  std::vector<Seen> seen;
  std::vector<EncodedPattern> sample;
  std::vector<std::string> notes;
};

uint64_t size_of(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  return failure ? 0 : size;
}

/// Files read one after the other by one body: [first, end) of the paths.
struct Chunk {
  size_t first;
  size_t end;
  uint64_t bytes;
};

std::vector<Chunk> chunks_of(const std::vector<std::string>& paths) {
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < paths.size(); ++i) {
    const uint64_t bytes = size_of(paths[i]);
    if (chunks.empty() || chunks.back().bytes + bytes > kChunkBytes) chunks.push_back({i, i, 0});
    chunks.back().end = i + 1;
    chunks.back().bytes += bytes;
  }
  return chunks;
}

// Calls `take(reader, record)` for every pattern of a file.
template <typename Take>
void read_file(const std::string& path, NameTable& names, std::vector<std::string>& notes, Take take) {
  Result<std::unique_ptr<ByteSource>> source = open_file(path);
  if (!source) {
    notes.push_back(about(path, source.error().message));
    return;
  }
  PatternFileReader reader(std::move(source.value()), path);
  bool any = false;
  while (true) {
    const Result<std::optional<EncodedRecord>> record = reader.next();
    if (!record) {
      notes.push_back(about(path, record.error().message));
      break;
    }
    if (!*record) break;
    any = true;
    if ((*record)->type == RecordType::kPattern) {
      take(reader, **record);
    } else if (const Result<NameTable> more = decode_names((*record)->payload)) {
      merge_names(names, *more);
    } else {
      reader.report(more.error().message);
    }
  }
  for (const std::string& problem : reader.problems()) notes.push_back(about(path, problem));
  if (!any && reader.problems().empty()) notes.push_back(about(path, "not a pattern file, or empty"));
}

Part read_chunk(const InputSet& inputs, const Chunk& chunk, size_t most_sample, size_t most_uses,
                ProgressSink& progress) {
  Part part(most_uses);
  EvenSample sample(most_sample);
  PatternDecoder decoder;
  RankPattern pattern;
  for (size_t file = chunk.first; file < chunk.end; ++file) {
    const auto take = [&](PatternFileReader& reader, const EncodedRecord& record) {
      if (const Status status = decoder.decode(record.payload, PatternDetail::kComparison, pattern, most_uses);
          !status) {
        reader.report(status.error().message);
        return;
      }
      part.builder.add(pattern);
      if (!is_observed(pattern)) return;
      part.seen.push_back({pattern.rank, {static_cast<uint32_t>(file), record.checksum}});
      add_import(pattern, part.import);
      sample.offer(pattern.rank, record.payload);
    };
    read_file(inputs.pattern_paths[file], part.names, part.notes, take);
    progress.file_done();
  }
  part.sample = sample.take();
  progress.advance(chunk.bytes);
  return part;
}

/// Joins parts in their order, whichever comes first. Whoever brings the one that is due joins it and those behind it
/// that came meanwhile; others wait for that only where very many parts would gather.
class Joiner {
 public:
  Joiner(const std::vector<Chunk>& chunks, uint64_t bytes, size_t most_uses)
      : chunks_(chunks), waiting_(chunks.size()), bytes_(bytes), all_(most_uses) {}

  void add(size_t index, Part part) {
    std::unique_lock lock(guard_);
    room_.wait(lock, [this] { return !joining_ || here_ < kMostHere; });
    waiting_[index] = std::move(part);
    ++here_;
    if (joining_) return;
    joining_ = true;
    while (next_ < waiting_.size() && waiting_[next_]) {
      Part due = std::move(*waiting_[next_]);
      const uint64_t bytes = chunks_[next_].bytes;
      waiting_[next_++].reset();
      --here_;
      lock.unlock();
      room_.notify_all();
      join(std::move(due), bytes);
      lock.lock();
    }
    joining_ = false;
    room_.notify_all();
  }
  Part take() { return std::move(all_); }

 private:
  static constexpr size_t kMostHere = 16;

  void join(Part part, uint64_t bytes) {
    const size_t ranks = part.builder.ranks();
    const bool first = all_.builder.ranks() == 0;
    all_.builder.append(std::move(part.builder));
    joined_bytes_ += bytes;
    if (first && ranks > 0 && joined_bytes_ > 0) {
      all_.builder.reserve(static_cast<size_t>(static_cast<double>(ranks) * static_cast<double>(bytes_) /
                                               static_cast<double>(joined_bytes_)));
    }
    merge_names(all_.names, part.names);
    add_import(part.import, all_.import);
    all_.seen.insert(all_.seen.end(), part.seen.begin(), part.seen.end());
    std::move(part.sample.begin(), part.sample.end(), std::back_inserter(all_.sample));
    std::move(part.notes.begin(), part.notes.end(), std::back_inserter(all_.notes));
  }

  const std::vector<Chunk>& chunks_;
  std::mutex guard_;  // of what follows, up to joining_; what is behind that is the one thread's that joins
  std::condition_variable room_;
  std::vector<std::optional<Part>> waiting_;
  size_t here_ = 0;  // that wait
  size_t next_ = 0;
  bool joining_ = false;
  uint64_t joined_bytes_ = 0;
  uint64_t bytes_;
  Part all_;
};

// By rank, each rank once; the sample thinned.
Status put_in_order(const InputSet& inputs, Part& all) {
  std::stable_sort(all.seen.begin(), all.seen.end(), [](const Seen& a, const Seen& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < all.seen.size(); ++i) {
    const Seen& a = all.seen[i - 1];
    const Seen& b = all.seen[i];
    if (a.rank != b.rank) continue;
    return Error{Error::Kind::kAmbiguous,
                 a.place.checksum == b.place.checksum
                     ? fmt::format("rank {} is in two inputs: {} and {}; of so many ranks give each only once", a.rank,
                                   inputs.pattern_paths[a.place.file], inputs.pattern_paths[b.place.file])
                     : fmt::format("two inputs claim to be rank {}: {} and {}; give only one of them", a.rank,
                                   inputs.pattern_paths[a.place.file], inputs.pattern_paths[b.place.file])};
  }
  const auto by_rank = [](const EncodedPattern& a, const EncodedPattern& b) { return a.rank < b.rank; };
  std::sort(all.sample.begin(), all.sample.end(), by_rank);
  if (all.sample.size() > kSampleRanks) {
    std::vector<EncodedPattern> fewer;
    fewer.reserve(kSampleRanks);
    for (size_t i = 0; i < kSampleRanks; ++i) {
      fewer.push_back(std::move(all.sample[i * all.sample.size() / kSampleRanks]));
    }
    all.sample = std::move(fewer);
  }
  return ok_status();
}

// Those that can be read whole.
std::vector<RankPattern> decoded(const std::vector<EncodedPattern>& sample, Executor& executor) {
  std::vector<std::optional<RankPattern>> patterns(sample.size());
  executor.parallel_for(sample.size(), [&](size_t i) {
    Result<RankPattern> pattern = decode_pattern(sample[i].bytes);
    if (pattern) patterns[i] = std::move(pattern.value());
  });
  std::vector<RankPattern> usable;
  usable.reserve(patterns.size());
  for (std::optional<RankPattern>& pattern : patterns) {
    if (pattern) usable.push_back(std::move(*pattern));
  }
  return usable;
}

size_t count_unnamed(const Job& job, const NameTable& names) {
  return static_cast<size_t>(
      std::count_if(job.functions.begin(), job.functions.end(),
                    [&](const JobFunction& function) { return function.hash != 0 && !names.contains(function.hash); }));
}

void add_neighbouring_names(const std::vector<std::string>& paths, NameTable& names, std::vector<std::string>& notes) {
  std::set<std::string> folders;
  for (const std::string& path : paths) folders.insert(std::filesystem::path(path).parent_path().string());
  for (const std::string& folder : folders) {
    const std::string path = (std::filesystem::path(folder) / "names.eroica").string();
    std::error_code failure;
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) continue;
    if (!std::filesystem::is_regular_file(path, failure)) continue;
    read_file(path, names, notes, [](PatternFileReader&, const EncodedRecord&) {});
  }
}

}  // namespace

bool is_streamed(const InputSet& inputs) {
  const bool traces = std::any_of(inputs.ranks.begin(), inputs.ranks.end(),
                                  [](const RankInput& rank) { return !rank.trace_path.empty(); });
  if (traces || !inputs.sample_paths.empty() || inputs.pattern_paths.empty()) return false;
  uint64_t bytes = 0;
  for (const std::string& path : inputs.pattern_paths) bytes += size_of(path);
  if (bytes < kFewBytes) return false;
  size_t patterns = 0;
  for (const std::string& path : inputs.pattern_paths) {
    const Result<std::unique_ptr<ByteSource>> source = open_file(path);
    if (source) patterns += count_patterns(*source.value(), kFewRanks + 1 - patterns);
    if (patterns > kFewRanks) return true;
  }
  return false;
}

Result<StreamedJob> stream_patterns(const InputSet& inputs, Executor& executor, ProgressSink& progress) {
  const std::vector<Chunk> chunks = chunks_of(inputs.pattern_paths);
  uint64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += chunk.bytes;
  // A pattern has some kilobytes; jobs of very many ranks keep fewer functions of each.
  constexpr uint64_t kUsualPattern = 6000;
  const size_t most_uses = bytes / kUsualPattern > kManyRanks ? kFewerUses : Job::kMaxUses;
  const size_t every = chunks.size() / kSampleRanks + 1;
  const size_t most_sample = std::max<size_t>(1, 2 * kSampleRanks * every / chunks.size());
  Joiner joiner(chunks, bytes, most_uses);
  progress.begin(bytes, inputs.pattern_paths.size());
  executor.parallel_for(chunks.size(), [&](size_t i) {
    joiner.add(i, read_chunk(inputs, chunks[i], i % every == 0 ? most_sample : 0, most_uses, progress));
  });
  progress.end();

  Part all = joiner.take();
  StreamedJob streamed;
  streamed.notes = inputs.problems;
  streamed.notes.insert(streamed.notes.end(), all.notes.begin(),
                        all.notes.begin() + static_cast<ptrdiff_t>(std::min(all.notes.size(), kMostNotes)));
  if (all.notes.size() > kMostNotes) {
    streamed.notes.push_back(fmt::format("{} more problems with the input", all.notes.size() - kMostNotes));
  }
  if (all.seen.empty()) {
    std::string message = "no input could be used";
    for (const std::string& note : streamed.notes) message += "\n  " + note;
    return Error{Error::Kind::kNotATrace, std::move(message)};
  }
  if (const Status status = put_in_order(inputs, all); !status) return status.error();
  streamed.names = std::move(all.names);
  streamed.job = all.builder.finish(streamed.names);
  if (count_unnamed(streamed.job, streamed.names) > 0) {
    add_neighbouring_names(inputs.pattern_paths, streamed.names, streamed.notes);
    classify_functions(streamed.job, streamed.names);
    if (const size_t unnamed = count_unnamed(streamed.job, streamed.names); unnamed > 0) {
      streamed.notes.push_back(fmt::format("names of {} functions are missing: names.eroica was not given", unnamed));
    }
  }
  streamed.sample = decoded(all.sample, executor);
  streamed.whole.import = all.import;
  std::unordered_set<uint32_t> hosts;
  for (const RankFacts& rank : streamed.job.ranks) {
    if (rank.host != 0) hosts.insert(rank.host);
  }
  streamed.whole.hosts = hosts.size();
  streamed.whole.ranks.reserve(all.seen.size());
  streamed.places.reserve(all.seen.size());
  for (const Seen& seen : all.seen) {
    streamed.whole.ranks.push_back(seen.rank);
    streamed.places.push_back(seen.place);
  }
  return streamed;
}

void add_to_sample(StreamedJob& streamed, const InputSet& inputs, std::span<const int32_t> ranks, Executor& executor) {
  std::set<int32_t> held;
  for (const RankPattern& pattern : streamed.sample) held.insert(pattern.rank);
  std::map<uint32_t, std::map<int32_t, uint32_t>> wanted;  // by file: ranks and the checksums of their records
  size_t count = streamed.sample.size();
  for (const int32_t rank : ranks) {
    const auto at = std::lower_bound(streamed.whole.ranks.begin(), streamed.whole.ranks.end(), rank);
    if (at == streamed.whole.ranks.end() || *at != rank || held.contains(rank) || count == kMostSampleRanks) continue;
    const PatternPlace place = streamed.places[static_cast<size_t>(at - streamed.whole.ranks.begin())];
    if (wanted.size() == kMostFilesReadAgain && !wanted.contains(place.file)) continue;
    if (wanted[place.file].emplace(rank, place.checksum).second) ++count;
  }
  std::vector<uint32_t> files;
  files.reserve(wanted.size());
  for (const auto& [file, of] : wanted) files.push_back(file);
  std::vector<std::vector<RankPattern>> found(files.size());
  executor.parallel_for(files.size(), [&](size_t i) {
    NameTable names;
    std::vector<std::string> notes;  // the same as before
    const std::map<int32_t, uint32_t>& of_file = wanted.at(files[i]);
    read_file(inputs.pattern_paths[files[i]], names, notes, [&](PatternFileReader&, const EncodedRecord& record) {
      const bool is_wanted =
          std::ranges::any_of(of_file, [&](const auto& entry) { return entry.second == record.checksum; });
      if (!is_wanted) return;
      Result<RankPattern> pattern = decode_pattern(record.payload);
      if (pattern && of_file.contains(pattern->rank)) found[i].push_back(std::move(pattern.value()));
    });
  });
  for (std::vector<RankPattern>& patterns : found) {
    std::move(patterns.begin(), patterns.end(), std::back_inserter(streamed.sample));
  }
  std::sort(streamed.sample.begin(), streamed.sample.end(),
            [](const RankPattern& a, const RankPattern& b) { return a.rank < b.rank; });
}

}  // namespace eroica
