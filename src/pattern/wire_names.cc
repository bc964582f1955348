#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "pattern/text.h"
#include "pattern/wire.h"
#include "pattern/wire_version.h"
#include "pattern/zstd_block.h"
#include "proto/pattern.pb.h"

namespace eroica {
namespace {

constexpr size_t kMaxTextBytes = 1024;
constexpr size_t kMaxPath = 128;
constexpr size_t kMaxWritten = size_t{48} << 20;
/// What the words may take once every index is replaced by its string: a short table could else ask for any amount.
constexpr size_t kMaxExpanded = size_t{256} << 20;

class Strings {
 public:
  explicit Strings(wire::NameTable& message) : message_(message) {}

  uint32_t index(const std::string& text) {
    const std::string clean = clean_text(text, kMaxTextBytes);
    if (clean.empty()) {
      return 0;
    }
    const auto [at, added] = indices_.try_emplace(clean, static_cast<uint32_t>(indices_.size()) + 1);
    if (added) {
      message_.add_strings(clean);
      bytes_ += clean.size() + 4;
    }
    return at->second;
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  wire::NameTable& message_;
  std::unordered_map<std::string, uint32_t> indices_;  // only looked up, never walked
  size_t bytes_ = 0;
};

auto words(const FunctionName& name) { return std::tie(name.text, name.full, name.file, name.kind, name.path); }

/// The outermost and the innermost callers of a very deep path.
std::vector<std::string> bounded_path(const std::vector<std::string>& path) {
  if (path.size() <= kMaxPath) {
    return path;
  }
  constexpr std::ptrdiff_t kHalf = kMaxPath / 2;
  std::vector<std::string> kept(path.begin(), path.begin() + kHalf);
  kept.insert(kept.end(), path.end() - kHalf, path.end());
  return kept;
}

}  // namespace

std::string encode_names(const NameTable& names) {
  wire::NameTable message;
  message.set_version(kWireVersion);
  Strings strings(message);
  size_t bytes = 0;
  for (const auto& [hash, name] : names) {
    wire::Name* row = message.add_names();
    row->set_hash(hash);
    row->set_kind(static_cast<wire::FunctionKind>(name.kind));
    row->set_text(strings.index(name.text));
    row->set_full(strings.index(name.full));
    row->set_file(strings.index(name.file));
    for (const std::string& caller : bounded_path(name.path)) {
      row->add_path(strings.index(caller));
    }
    bytes += 40 + 5 * static_cast<size_t>(row->path_size());
    if (bytes + strings.bytes() > kMaxWritten) {
      break;
    }
  }
  return zstd_block(message.SerializeAsString());
}

Result<NameTable> decode_names(std::string_view bytes) {
  const std::optional<std::string> message_bytes = unzstd_block(bytes, kMaxNamesMessageBytes);
  wire::NameTable message;
  if (!message_bytes || !message.ParseFromString(*message_bytes) || message.version() == 0) {
    return Error{Error::Kind::kInvalid, "damaged, or no name table"};
  }
  if (message.version() > kWireVersion) {
    return Error{Error::Kind::kUnsupported,
                 fmt::format("a name table of version {}, made by a newer eroica; this one reads up to version {}",
                             message.version(), kWireVersion)};
  }
  bool valid = true;
  size_t expanded = 0;
  const auto text = [&](uint32_t index) -> std::string {
    if (index == 0) {
      return {};
    }
    if (index > static_cast<uint32_t>(message.strings_size())) {
      valid = false;
      return {};
    }
    const std::string& string = message.strings(static_cast<int>(index) - 1);
    expanded += string.size() + sizeof(std::string);
    valid = valid && expanded <= kMaxExpanded && string.size() <= kMaxTextBytes && is_clean_text(string);
    return valid ? string : std::string();
  };
  NameTable names;
  for (const wire::Name& row : message.names()) {
    if (!valid || row.kind() < 0 || static_cast<size_t>(row.kind()) >= kFunctionKindCount) {
      valid = false;
      break;
    }
    FunctionName name{text(row.text()), text(row.full()), text(row.file()), static_cast<FunctionKind>(row.kind()), {}};
    for (const uint32_t caller : row.path()) {
      name.path.push_back(text(caller));
    }
    merge_names(names, {{row.hash(), std::move(name)}});
  }
  if (!valid) {
    return Error{Error::Kind::kInvalid,
                 "damaged name table: a text, an index, a kind or its size is not as it must be"};
  }
  return names;
}

size_t merge_names(NameTable& into, const NameTable& more) {
  size_t conflicts = 0;
  for (const auto& [hash, name] : more) {
    const auto [at, added] = into.try_emplace(hash, name);
    if (!added && at->second != name) {
      ++conflicts;
      if (words(name) < words(at->second)) {
        at->second = name;
      }
    }
  }
  return conflicts;
}

}  // namespace eroica
