#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "trace/bundle.h"
#include "trace/bundle_document.h"

namespace eroica {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_separator(char c) { return std::string_view("_-.=[] ").find(c) != std::string_view::npos; }

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

struct Number {
  int32_t value;
  size_t end;
};

/// A number that ends a word; at most two separators may stand before it.
std::optional<Number> number_at(std::string_view text, size_t at) {
  for (int i = 0; i < 2 && at < text.size() && is_separator(text[at]); ++i) ++at;
  if (at >= text.size() || !is_digit(text[at])) return std::nullopt;
  int32_t value = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > kMaxRank) return std::nullopt;
  }
  if (at < text.size() && is_letter(text[at])) return std::nullopt;
  return Number{value, at};
}

/// The word that ends before `at`, separators passed over.
std::string_view word_before(std::string_view text, size_t at) {
  while (at > 0 && is_separator(text[at - 1])) --at;
  size_t begin = at;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

/// Is this word's rank one within some part of the job only?
bool is_partial(std::string_view word) {
  constexpr std::array<std::string_view, 15> kParts = {
      "local", "node", "group", "tp", "pp", "dp", "cp", "ep", "sp", "vp", "mp", "etp", "edp", "tensor", "pipeline"};
  return std::find(kParts.begin(), kParts.end(), word) != kParts.end();
}

struct Found {
  int32_t rank = -1;
  size_t end = 0;          ///< where the number ends
  bool contested = false;  ///< several that differ
};

/// The rank that a lower-case text tells.
Found find_rank(std::string_view text) {
  constexpr std::string_view kWord = "rank";
  Found found;
  for (size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    if (at > 0 && is_letter(text[at - 1])) continue;
    const std::optional<Number> number = number_at(text, at + kWord.size());
    if (!number) continue;
    const std::string_view before = word_before(text, at);
    if (is_partial(before)) continue;
    if (before == "global" || before == "world") return {number->value, number->end, false};
    found.contested = found.contested || (found.rank >= 0 && found.rank != number->value);
    found.rank = number->value;
    found.end = number->end;
  }
  if (found.contested) found.rank = -1;
  return found;
}

/// torch.profiler.tensorboard_trace_handler(dir, worker_name) writes worker_name.TIME.pt.trace.json.
int32_t torch_worker(std::string_view name) {
  constexpr std::string_view kWord = "worker";
  const bool by_torch = name.ends_with(".pt.trace.json") || name.ends_with(".pt.trace.json.gz");
  if (!by_torch || !name.starts_with(kWord)) return -1;
  const std::optional<Number> number = number_at(name, kWord.size());
  return number && number->end < name.size() && name[number->end] == '.' ? number->value : -1;
}

/// Takes the last component off `path`.
std::string_view take_last(std::string_view& path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  const std::string_view last = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  path.remove_suffix(last.size());
  return last;
}

}  // namespace

int32_t rank_from_file_name(std::string_view path) {
  const std::string name = lower(take_last(path));
  const Found in_name = find_rank(name);
  if (in_name.rank >= 0) return in_name.rank;
  if (in_name.contested) return -1;
  if (const int32_t worker = torch_worker(name); worker >= 0) return worker;

  for (int level = 0; level < 2; ++level) {
    const std::string folder = lower(take_last(path));
    const Found in_folder = find_rank(folder);
    if (in_folder.rank >= 0 && in_folder.end == folder.size()) return in_folder.rank;
  }
  return -1;
}

}  // namespace eroica
