#include "cli/rules_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/text_file.h"
#include "diagnose/standard_rules.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

Error unreadable(const std::string& path, const std::string& why) {
  return {Error::Kind::kUnreadable, fmt::format("{}: {}", path, why)};
}

Result<std::vector<std::string>> rule_files(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Error{Error::Kind::kNotFound, path + ": no such file or folder"};
  if (!fs::is_directory(status)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  fs::directory_iterator entry(path, error);
  while (!error && entry != fs::directory_iterator()) {
    if (entry->path().extension() == ".toml") files.push_back(entry->path().string());
    entry.increment(error);
  }
  if (error) return unreadable(path, error.message());
  if (files.empty()) return Error{Error::Kind::kNotFound, path + ": no *.toml in this folder"};
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<RuleSet> read_rules(const std::vector<std::string>& paths) {
  RuleSet set;
  for (const std::string& path : paths) {
    const Result<std::vector<std::string>> files = rule_files(path);
    if (!files) return files.error();
    for (const std::string& file : *files) {
      const Result<std::string> text = read_text_file(file);
      if (!text) return text.error();
      merge_rules(set, parse_rules(*text, file));
    }
  }
  return set;
}

std::vector<std::string> files_of_rules(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    const Result<std::vector<std::string>> files = rule_files(path);
    if (files) all.insert(all.end(), files->begin(), files->end());
  }
  return all;
}

Result<RuleSet> load_rules(const std::vector<std::string>& extra_dirs) {
  Result<RuleSet> extra = read_rules(extra_dirs);
  if (!extra) return extra.error();
  RuleSet rules = standard_rules();
  merge_rules(rules, std::move(extra.value()));
  return rules;
}

}  // namespace eroica
