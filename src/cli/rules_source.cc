#include "cli/rules_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "diagnose/standard_rules.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = (size_t{1} << 20) + 1;  // one more than parse_rules() takes

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

Result<std::string> read_text(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return unreadable(path, "is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, std::strerror(errno));
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return unreadable(path, std::strerror(errno));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<RuleSet> read_rules(const std::vector<std::string>& paths) {
  RuleSet set;
  for (const std::string& path : paths) {
    const Result<std::vector<std::string>> files = rule_files(path);
    if (!files) return files.error();
    for (const std::string& file : *files) {
      const Result<std::string> text = read_text(file);
      if (!text) return text.error();
      merge_rules(set, parse_rules(*text, file));
    }
  }
  return set;
}

Result<RuleSet> load_rules(const std::vector<std::string>& extra_dirs) {
  Result<RuleSet> extra = read_rules(extra_dirs);
  if (!extra) return extra.error();
  RuleSet rules = standard_rules();
  merge_rules(rules, std::move(extra.value()));
  return rules;
}

std::string in_words(const RuleProblem& problem) {
  return fmt::format("{}:{}: {}", problem.file, problem.line, problem.message);
}

}  // namespace eroica
