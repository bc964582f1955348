#include "diagnose/function_matcher.h"

#include <re2/re2.h>

namespace eroica {
namespace {

constexpr int64_t kMostRegexMemory = 1 << 20;

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostRegexMemory);
  return options;
}

}  // namespace

FunctionMatcher::FunctionMatcher(const Job& job, const NameTable& names) : of_function_(job.functions.size()) {
  std::unordered_map<std::string_view, uint32_t> ids;
  const auto id_of = [&](const std::string& text) {
    const auto [found, is_new] = ids.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return found->second;
  };
  for (size_t i = 0; i < job.functions.size(); ++i) {
    const auto name = names.find(job.functions[i].hash);
    if (name == names.end()) continue;
    std::vector<uint32_t>& ids_of = of_function_[i].ids;
    ids_of.push_back(id_of(name->second.text));
    if (!name->second.full.empty()) ids_of.push_back(id_of(name->second.full));
    if (!name->second.file.empty()) ids_of.push_back(id_of(name->second.file));
    for (const std::string& caller : name->second.path) ids_of.push_back(id_of(caller));
  }
}

const std::vector<bool>& FunctionMatcher::matching(const std::string& expression) {
  const auto [found, is_new] = known_.try_emplace(expression);
  if (!is_new) return found->second;
  std::vector<bool>& selected = found->second;
  selected.assign(of_function_.size(), false);
  const re2::RE2 regex(expression, options());
  if (!regex.ok()) return selected;
  std::vector<bool> text_matches(texts_.size());
  for (size_t i = 0; i < texts_.size(); ++i) text_matches[i] = re2::RE2::PartialMatch(texts_[i], regex);
  for (size_t i = 0; i < of_function_.size(); ++i) {
    for (const uint32_t id : of_function_[i].ids) {
      if (text_matches[id]) {
        selected[i] = true;
        break;
      }
    }
  }
  return selected;
}

bool matches_text(const std::string& text, const std::string& expression) {
  const re2::RE2 regex(expression, options());
  return regex.ok() && re2::RE2::PartialMatch(text, regex);
}

std::string regex_problem(const std::string& expression) {
  const re2::RE2 regex(expression, options());
  return regex.ok() ? std::string() : regex.error();
}

}  // namespace eroica
