#include "web/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace eroica {
namespace {

std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      unsigned int value = 0;
      if (i + 2 >= text.size()) return std::nullopt;
      const char* begin = text.data() + i + 1;
      const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
      if (error != std::errc() || end != begin + 2) return std::nullopt;
      c = static_cast<char>(value);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) return std::nullopt;
    out += c;
  }
  return out;
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) {
  Target parsed;
  const size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  if (!path.starts_with('/')) return std::nullopt;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    std::optional<std::string> segment = decoded(path.substr(0, end), false);
    if (!segment) return std::nullopt;
    if (!segment->empty() || end < path.size()) parsed.path.push_back(std::move(*segment));
    path.remove_prefix(end);
  }
  if (question == std::string_view::npos) return parsed;
  std::string_view query = target.substr(question + 1);
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view item = query.substr(0, end);
    const size_t equals = std::min(item.find('='), item.size());
    std::optional<std::string> key = decoded(item.substr(0, equals), true);
    std::optional<std::string> value = decoded(item.substr(std::min(equals + 1, item.size())), true);
    if (!key || !value) return std::nullopt;
    if (!key->empty()) parsed.query.emplace(std::move(*key), std::move(*value));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return parsed;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace eroica
