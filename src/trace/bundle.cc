#include "trace/bundle.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "trace/bundle_document.h"
#include "trace/byte_source.h"
#include "trace/file_probe.h"
#include "trace/rank_from.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr int kFolderLevels = 2;
constexpr size_t kMaxFolderEntries = 1'000'000;
constexpr size_t kMaxProblems = 200;
constexpr std::string_view kBundleName = "bundle.json";

/// Two paths with the same id lead to the same file or folder.
struct FileId {
  dev_t device;
  ino_t inode;
  auto operator<=>(const FileId&) const = default;
};

/// What a path leads to, links followed.
struct PathState {
  enum class Kind { kFile, kFolder, kOther, kMissing };
  Kind kind = Kind::kMissing;
  FileId id{};
  std::string why;  ///< kMissing and kOther: what is wrong with it
};

PathState look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {PathState::Kind::kMissing, {}, std::error_code(errno, std::generic_category()).message()};
  }
  const FileId id{status.st_dev, status.st_ino};
  if (S_ISREG(status.st_mode)) return {PathState::Kind::kFile, id, ""};
  if (S_ISDIR(status.st_mode)) return {PathState::Kind::kFolder, id, ""};
  return {PathState::Kind::kOther, id, "neither a file nor a folder"};
}

bool is_file(const std::string& path) { return look_at(path).kind == PathState::Kind::kFile; }

std::string joined(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

/// A name without the ending of a compressed file.
std::string_view without_compression(std::string_view name) {
  for (const std::string_view ending : {".gz", ".zst", ".gzip", ".zstd"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

enum class NameKind { kDocument, kLeftOver, kPattern, kXplane, kTable, kOther };

/// What a file may be by its name; its content decides.
NameKind name_kind(std::string_view name) {
  const std::string_view plain = without_compression(name);
  if (plain.ends_with(".json") || plain.ends_with(".trace")) return NameKind::kDocument;
  if (plain.ends_with(".eroica")) return NameKind::kPattern;
  if (plain.ends_with(".xplane.pb")) return NameKind::kXplane;
  if (plain.ends_with(".csv")) return NameKind::kTable;
  if (name.ends_with(".tmp")) {
    const NameKind final_kind = name_kind(name.substr(0, name.size() - 4));
    return final_kind == NameKind::kDocument ? NameKind::kLeftOver : NameKind::kOther;
  }
  return NameKind::kOther;
}

/// Why a file of that name cannot be read yet; empty = it may be.
std::string_view not_yet(NameKind kind) {
  if (kind == NameKind::kXplane) return "XSpace captures (.xplane.pb) cannot be read yet";
  if (kind == NameKind::kTable)
    return "an operation timeline (.csv) is read alone, by analyze, and its first line must name its columns";
  return "";
}

class Discovery {
 public:
  explicit Discovery(std::optional<RankFrom> rank_from) : rank_from_(std::move(rank_from)) {}

  Result<InputSet> run(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) sort_out(path);
    if (bundles_.size() > 1) return several_bundles();
    for (const auto& [id, path] : bundles_) {
      if (Status status = read_bundle(path); !status.ok()) return status.error();
    }
    for (const std::string& path : plain_paths_) add_named(path);
    if (Status status = add_nested_bundle(); !status.ok()) return status.error();
    settle_patterns();
    if (Status status = apply_rank_from(); !status.ok()) return status.error();
    order_ranks();
    if (Status status = check_claims(); !status.ok()) return status.error();
    if (!found_anything()) return nothing_found(paths);
    shorten_problems();
    return std::move(inputs_);
  }

 private:
  void problem(const std::string& path, std::string_view what) {
    inputs_.problems.push_back(fmt::format("{}: {}", path, what));
  }

  // Bundles are read first, since they know the ranks of files that may be named as well.
  void sort_out(const std::string& path) {
    const PathState state = look_at(path);
    const std::string inside = joined(path, std::string(kBundleName));
    if (state.kind == PathState::Kind::kFile && file_name(path) == kBundleName) {
      bundles_.emplace(state.id, path);
    } else if (state.kind == PathState::Kind::kFolder && is_file(inside)) {
      bundles_.emplace(look_at(inside).id, inside);
    } else {
      plain_paths_.push_back(path);
    }
  }

  Error several_bundles() const {
    std::vector<std::string> found;
    found.reserve(bundles_.size());
    for (const auto& [id, path] : bundles_) found.push_back(path);
    std::sort(found.begin(), found.end());
    const size_t listed = std::min<size_t>(found.size(), 20);
    std::string lines;
    for (size_t i = 0; i < listed; ++i) lines += "\n  " + found[i];
    if (listed < found.size()) lines += fmt::format("\n  and {} more", found.size() - listed);
    return {Error::Kind::kAmbiguous, fmt::format("several bundles; name the one to analyse:{}", lines)};
  }

  // ---- bundle.json ----

  Status read_bundle(const std::string& path) {
    Result<std::string> text = read_bounded(path);
    if (!text.ok()) return text.error();
    Result<BundleDocument> document = parse_bundle(*text, path);
    if (!document.ok()) return document.error();

    inputs_.job_id = std::move(document->job_id);
    inputs_.world_size = document->world_size;
    inputs_.window = document->window;
    inputs_.hosts = std::move(document->hosts);
    inputs_.groups = std::move(document->groups);
    for (std::string& words : document->problems) inputs_.problems.push_back(std::move(words));

    const std::string folder = fs::path(path).parent_path().string();
    for (BundleRank& rank : document->ranks) {
      if (!rank.trace.path.empty()) rank.rank.trace_path = bundle_trace(folder, rank.trace, path);
      const bool pattern = is_pattern(rank.rank.trace_path);
      if (pattern) {
        patterns_.push_back({rank.rank.trace_path, true});
        rank.rank.trace_path.clear();
      }
      if (!rank.stacks.path.empty()) {
        const std::string stacks = joined(folder, rank.stacks.path);
        const bool there = usable(stacks, fmt::format("{}: {}: {}", path, rank.stacks.key, rank.stacks.path));
        if (there && first_time(stacks)) rank.rank.stacks_path = stacks;
      }
      inputs_.ranks.push_back(std::move(rank.rank));
    }
    for (const BundleFile& file : document->samples) {
      const std::string samples = joined(folder, file.path);
      if (usable(samples, fmt::format("{}: {}: {}", path, file.key, file.path)) && first_time(samples)) {
        inputs_.sample_paths.push_back(samples);
      }
    }
    has_bundle_ = true;
    return ok_status();
  }

  static Result<std::string> read_bounded(const std::string& path) {
    Result<std::unique_ptr<ByteSource>> file = open_file(path);
    if (!file.ok()) return file.error();
    const std::unique_ptr<DecompressedSource> source = decompress(std::move(*file));
    std::string text;
    std::string block(size_t{64} << 10, '\0');
    while (text.size() <= kMaxBundleBytes) {
      const Result<size_t> got = source->read(std::span(block));
      if (!got.ok()) return got.error();
      if (*got == 0) break;
      text.append(block, 0, *got);
    }
    return text;
  }

  /// Where a rank's trace lies; empty, with a problem, when it cannot be used.
  std::string bundle_trace(const std::string& folder, const BundleFile& file, const std::string& source) {
    std::string path = joined(folder, file.path);
    const std::string place = fmt::format("{}: {}: {}", source, file.key, file.path);
    if (!usable(path, place)) return "";
    if (const std::string_view why = not_yet(name_kind(file.path)); !why.empty()) {
      inputs_.problems.push_back(fmt::format("{}: passed over: {}", place, why));
      return "";
    }
    const FileId id = look_at(path).id;
    if (const auto [first, added] = seen_.emplace(id, path); !added) {
      inputs_.problems.push_back(
          fmt::format("{}: passed over: the same file as {}, which another "
                      "rank names",
                      place, first->second));
      return "";
    }
    return path;
  }

  bool usable(const std::string& path, const std::string& place) {
    const PathState state = look_at(path);
    if (state.kind == PathState::Kind::kFile) return true;
    inputs_.problems.push_back(
        fmt::format("{}: {}", place, state.kind == PathState::Kind::kFolder ? "a folder, not a file" : state.why));
    return false;
  }

  static bool is_pattern(const std::string& path) {
    if (path.empty()) return false;
    Result<std::unique_ptr<ByteSource>> file = open_file(path);
    std::string head(kPatternMagic.size(), '\0');
    if (!file.ok()) return false;
    const Result<size_t> got = (*file)->read(std::span(head));
    return got.ok() && *got == head.size() && head == kPatternMagic;
  }

  // ---- named paths and folders ----

  void add_named(const std::string& path) {
    const PathState state = look_at(path);
    switch (state.kind) {
      case PathState::Kind::kFolder:
        walk(path, 0);
        return;
      case PathState::Kind::kMissing:
      case PathState::Kind::kOther:
        problem(path, state.why);
        return;
      case PathState::Kind::kFile:
        break;
    }
    const NameKind kind = name_kind(file_name(path));
    if (const std::string_view why = not_yet(kind); !why.empty()) {
      problem(path, fmt::format("passed over: {}", why));
    } else if (first_time(path)) {
      add_by_content(path, true);
    }
  }

  void walk(const std::string& folder, int level) {
    if (!folders_.insert(look_at(folder).id).second) return;
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      names.push_back(entry->path().filename().string());
      if (names.size() > kMaxFolderEntries) {
        problem(folder,
                fmt::format("passed over: more than {} entries; name the traces themselves", kMaxFolderEntries));
        return;
      }
    }
    if (error) problem(folder, fmt::format("not searched completely: {}", error.message()));
    std::sort(names.begin(), names.end());

    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      const std::string path = joined(folder, name);
      const PathState state = look_at(path);
      if (state.kind == PathState::Kind::kFolder) {
        enter(path, level + 1);
      } else if (name_kind(name) != NameKind::kOther) {
        if (state.kind == PathState::Kind::kFile) {
          add_found(folder, name);
        } else {
          problem(path, fmt::format("passed over: {}", state.why));
        }
      }
    }
  }

  void enter(const std::string& folder, int level) {
    const std::string bundle = joined(folder, std::string(kBundleName));
    if (level > kFolderLevels) return;
    if (is_file(bundle)) {
      nested_.emplace(look_at(bundle).id, bundle);
    } else {
      walk(folder, level);
    }
  }

  /// A file that a folder holds.
  void add_found(const std::string& folder, const std::string& name) {
    const std::string path = joined(folder, name);
    const NameKind kind = name_kind(name);
    if (const std::string_view why = not_yet(kind); !why.empty()) {
      if (kind == NameKind::kXplane || is_operation_timeline(path)) {
        problem(path, fmt::format("passed over: {}", why));
      }
      return;
    }
    if (kind == NameKind::kLeftOver) {
      const std::string final_path = path.substr(0, path.size() - 4);
      if (is_file(final_path)) {
        problem(path, fmt::format("passed over: left over from writing {}, which is there", file_name(final_path)));
        return;
      }
    }
    if (first_time(path)) add_by_content(path, false);
  }

  static bool is_operation_timeline(const std::string& path) {
    Result<std::unique_ptr<ByteSource>> file = open_file(path);
    if (!file.ok()) return false;
    const std::unique_ptr<DecompressedSource> source = decompress(std::move(*file));
    std::string head(1024, '\0');
    const Result<size_t> got = source->read(std::span(head));
    if (!got.ok()) return false;
    const std::string_view header = std::string_view(head).substr(0, std::min(*got, head.find('\n')));
    return header.find("optype") != std::string_view::npos && header.find("duration") != std::string_view::npos;
  }

  /// False for a file that was reached before; a second name of it is worth a word.
  bool first_time(const std::string& path) {
    const auto [first, added] = seen_.emplace(look_at(path).id, path);
    if (!added && fs::path(first->second).lexically_normal() != fs::path(path).lexically_normal()) {
      problem(path, fmt::format("the same file as {}; read once", first->second));
    }
    return added;
  }

  void add_by_content(const std::string& path, bool named) {
    const FileProbe probe = probe_file(path);
    switch (probe.kind) {
      case FileKind::kTrace:
        add_trace(path);
        break;
      case FileKind::kSamples:
        add_samples(path);
        break;
      case FileKind::kPattern:
        patterns_.push_back({path, named});
        break;
      case FileKind::kOtherJson:
        // A folder may hold JSON of any kind; one that is named like a rank's trace was meant to be one.
        if (!named && rank_from_file_name(path) < 0) break;
        [[fallthrough]];
      case FileKind::kUnknown:
      case FileKind::kEmpty:
        problem(path, fmt::format("passed over: {}", probe.why));
        break;
      case FileKind::kUnreadable:
        inputs_.problems.push_back(probe.why);
        break;
    }
  }

  void add_trace(const std::string& path) {
    if (name_kind(file_name(path)) == NameKind::kLeftOver) {
      problem(path, "left over from an unfinished write; what it holds is used");
    }
    RankInput input;
    input.trace_path = path;
    inputs_.ranks.push_back(std::move(input));
  }

  void add_samples(const std::string& path) {
    const std::string plain(without_compression(path));
    if (const auto [first, added] = plain_samples_.emplace(plain, path); !added) {
      problem(path, fmt::format("passed over: the same samples as {} by its name", first->second));
      return;
    }
    inputs_.sample_paths.push_back(path);
  }

  /// A folder around one bundle stands for that bundle.
  Status add_nested_bundle() {
    if (nested_.empty()) return ok_status();
    for (const auto& [id, path] : nested_) bundles_.emplace(id, path);
    if (bundles_.size() > 1) return several_bundles();
    if (has_bundle_) return ok_status();
    const std::string& path = bundles_.begin()->second;
    if (!inputs_.ranks.empty()) {
      return Error{Error::Kind::kAmbiguous,
                   fmt::format("a bundle and traces outside of it; name the one to analyse:\n  {}\n  {}", path,
                               inputs_.ranks.front().trace_path)};
    }
    return read_bundle(path);
  }

  void settle_patterns() {
    const bool has_traces = trace_count() > 0;
    std::vector<std::string> left_out;
    for (const Pattern& pattern : patterns_) {
      if (has_traces && !pattern.named) {
        left_out.push_back(pattern.path);
      } else {
        inputs_.pattern_paths.push_back(pattern.path);
      }
    }
    if (left_out.empty()) return;
    problem(left_out.front(),
            fmt::format("passed over{}, since there are traces; name pattern files to read them",
                        left_out.size() == 1 ? "" : fmt::format(" with {} more pattern files", left_out.size() - 1)));
  }

  // ---- ranks ----

  Status apply_rank_from() {
    if (!rank_from_) return ok_status();
    std::vector<const std::string*> unmatched;
    size_t matched = 0;
    for (RankInput& input : inputs_.ranks) {
      if (input.rank >= 0) continue;
      const Result<std::optional<int32_t>> rank = rank_from_->rank(input.trace_path);
      if (!rank.ok()) return rank.error();
      if (!*rank) {
        unmatched.push_back(&input.trace_path);
        continue;
      }
      ++matched;
      input.rank = **rank;
      input.rank_source = RankSource::kRankFrom;
    }
    if (matched == 0 && !unmatched.empty()) {
      return Error{Error::Kind::kInvalid, fmt::format("--rank-from is not found in any of the {} paths, such as {}",
                                                      unmatched.size(), *unmatched.front())};
    }
    for (const std::string* path : unmatched) problem(*path, "--rank-from is not found in this path");
    return ok_status();
  }

  void order_ranks() {
    std::stable_sort(inputs_.ranks.begin(), inputs_.ranks.end(), [](const RankInput& a, const RankInput& b) {
      const bool a_known = a.rank >= 0;
      const bool b_known = b.rank >= 0;
      if (a_known != b_known) return a_known;
      if (a.rank != b.rank) return a.rank < b.rank;
      return a.trace_path < b.trace_path;
    });
  }

  [[nodiscard]] Status check_claims() const {
    std::string lines;
    size_t count = 0;
    const auto clash = [&](const RankInput& a, const RankInput& b, const std::string& what) {
      if (++count <= 20) {
        lines += fmt::format("\n  {}: {} and {}", what, shown_trace(a), shown_trace(b));
      }
    };
    std::map<std::string, const RankInput*> plain;
    for (size_t i = 0; i < inputs_.ranks.size(); ++i) {
      const RankInput& input = inputs_.ranks[i];
      if (i > 0 && input.rank >= 0 && input.rank == inputs_.ranks[i - 1].rank) {
        clash(inputs_.ranks[i - 1], input, fmt::format("rank {}", input.rank));
        continue;
      }
      if (input.trace_path.empty() || input.rank >= 0) continue;
      const std::string name(without_compression(input.trace_path));
      if (const auto [first, added] = plain.emplace(name, &input); !added) {
        clash(*first->second, input, "one trace, plain and compressed");
      }
    }
    if (count == 0) return ok_status();
    if (count > 20) lines += fmt::format("\n  and {} more", count - 20);
    return Error{Error::Kind::kAmbiguous,
                 fmt::format("two files claim the same rank:{}\nName only the traces of one window, "
                             "or tell the ranks by --rank-from REGEX or a bundle.json.",
                             lines)};
  }

  static std::string_view shown_trace(const RankInput& input) {
    return input.trace_path.empty() ? "bundle.json (no trace)" : std::string_view(input.trace_path);
  }

  // ---- the outcome ----

  [[nodiscard]] size_t trace_count() const {
    return static_cast<size_t>(std::count_if(inputs_.ranks.begin(), inputs_.ranks.end(),
                                             [](const RankInput& input) { return !input.trace_path.empty(); }));
  }

  [[nodiscard]] bool found_anything() const {
    if (trace_count() > 0 || !inputs_.pattern_paths.empty()) return true;
    return has_bundle_ && !inputs_.sample_paths.empty();
  }

  [[nodiscard]] Error nothing_found(const std::vector<std::string>& paths) const {
    std::string message = "nothing to analyse";
    for (size_t i = 0; i < std::min<size_t>(paths.size(), 5); ++i) {
      message += fmt::format("{} {}", i == 0 ? " in" : ",", paths[i]);
    }
    if (paths.size() > 5) message += fmt::format(" and {} more", paths.size() - 5);
    message +=
        ": looked for a bundle.json, for Kineto or Chrome traces (.json or .trace, also .gz and .zst; "
        "in folders two levels deep) and for pattern files (.eroica)";
    const size_t listed = std::min<size_t>(inputs_.problems.size(), 20);
    for (size_t i = 0; i < listed; ++i) message += "\n  " + inputs_.problems[i];
    if (listed < inputs_.problems.size()) {
      message += fmt::format("\n  and {} more files passed over", inputs_.problems.size() - listed);
    }
    for (const std::string& path : inputs_.sample_paths) {
      message += fmt::format("\n  {}: only samples; they need traces beside them", path);
      if (&path - inputs_.sample_paths.data() >= 4) break;
    }
    return {Error::Kind::kNotFound, message};
  }

  void shorten_problems() {
    const size_t count = inputs_.problems.size();
    if (count <= kMaxProblems) return;
    inputs_.problems.resize(kMaxProblems);
    inputs_.problems.push_back(fmt::format("and {} problems more", count - kMaxProblems));
  }

  struct Pattern {
    std::string path;
    bool named;  ///< by the user or a bundle, not just found
  };

  std::optional<RankFrom> rank_from_;
  InputSet inputs_;
  bool has_bundle_ = false;
  std::map<FileId, std::string> bundles_;
  std::map<FileId, std::string> nested_;  ///< bundles found inside searched folders
  std::vector<std::string> plain_paths_;
  std::map<FileId, std::string> seen_;  ///< files reached, by their first path
  std::set<FileId> folders_;
  std::map<std::string, std::string> plain_samples_;  ///< name without compression → path
  std::vector<Pattern> patterns_;
};

}  // namespace

Result<InputSet> discover(const std::vector<std::string>& paths, const DiscoverOptions& options) {
  std::optional<RankFrom> rank_from;
  if (!options.rank_from.empty()) {
    Result<RankFrom> compiled = RankFrom::compile(options.rank_from);
    if (!compiled.ok()) return compiled.error();
    rank_from = std::move(*compiled);
  }
  return Discovery(std::move(rank_from)).run(paths);
}

}  // namespace eroica
