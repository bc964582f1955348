#include "cli/pattern_folder.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "pattern/wire.h"

namespace eroica {
namespace {

std::string file_safe(const std::string& host) {
  constexpr size_t kLongest = 100;
  std::string safe;
  for (const char c : host.substr(0, kLongest)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    safe += plain ? c : '_';
  }
  return safe.empty() ? "unknown" : safe;
}

/// Different hosts get different names even where these look alike once they are safe.
std::string pack_name(const std::string& host, const std::map<std::string, std::string>& taken) {
  const std::string stem = "host-" + file_safe(host);
  std::string name = stem + ".eroica";
  for (int n = 2; taken.contains(name); ++n) name = fmt::format("{}-{}.eroica", stem, n);
  return name;
}

std::string names_file(const NameTable& names) {
  const std::array encoded{encode_names(names)};
  return pattern_file({}, encoded);
}

}  // namespace

std::map<std::string, std::string> rank_files(const Collected& collected) {
  std::map<std::string, std::string> files;
  for (const auto* patterns : {&collected.patterns, &collected.unobserved}) {
    for (const RankPattern& pattern : *patterns) {
      const std::array encoded{encode_pattern(pattern)};
      files.emplace(fmt::format("rank{}.eroica", pattern.rank), pattern_file(encoded, {}));
    }
  }
  files.emplace(kNamesFile, names_file(collected.names));
  return files;
}

void add_names(const std::string& path, const Collected& collected, std::map<std::string, std::string>& files) {
  Result<PatternFile> existing = load_pattern_file(path);
  if (!existing) return;
  NameTable names = collected.names;
  names.merge(existing->names);
  files[std::string(kNamesFile)] = names_file(names);
}

std::map<std::string, std::string> host_packs(const Collected& collected) {
  std::map<std::string, std::vector<const RankPattern*>> by_host;
  for (const auto* patterns : {&collected.patterns, &collected.unobserved}) {
    for (const RankPattern& pattern : *patterns) by_host[pattern.host].push_back(&pattern);
  }
  std::map<std::string, std::string> files;
  for (const auto& [host, patterns] : by_host) {
    std::vector<std::string> encoded;
    NameTable names;
    for (const RankPattern* pattern : patterns) {
      encoded.push_back(encode_pattern(*pattern));
      for (const uint64_t hash : referenced_names(*pattern)) {
        if (const auto name = collected.names.find(hash); name != collected.names.end()) names.insert(*name);
      }
    }
    const std::array encoded_names{encode_names(names)};
    files.emplace(pack_name(host, files), pattern_file(encoded, encoded_names));
  }
  return files;
}

}  // namespace eroica
