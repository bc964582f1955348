#include "diagnose/nearest_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kLongestWord = 64;

/// Letters to insert, remove or replace so that one becomes the other.
size_t edits(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words) {
  if (word.empty() || word.size() > kLongestWord) return {};
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string_view candidate : words) {
    const size_t distance = edits(word, candidate);
    if (distance >= best || distance >= candidate.size()) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string shown(text.substr(0, kMost));
  if (text.size() > kMost) {
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0x80) != 0) shown.pop_back();
    shown += "...";
  }
  return "'" + shown + "'";
}

std::string unknown_word(std::string_view what, std::string_view word, std::span<const std::string_view> known) {
  const std::string_view near = nearest_word(word, known);
  std::string message = fmt::format("unknown {} {}", what, quoted(word));
  if (!near.empty()) return message + fmt::format("; did you mean '{}'?", near);
  if (known.size() <= 16) message += fmt::format("; expected one of: {}", fmt::join(known, ", "));
  return message;
}

}  // namespace eroica
