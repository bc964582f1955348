#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace eroica {

// Text of the kernel: lines of fields, with whatever some other kernel puts there instead.

/// Takes the next line off the text; without its end.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// Takes the next field off the text: what stands before the next blank. Empty: there is none.
inline std::string_view take_field(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t\n\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const std::string_view field = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(field.size());
  return field;
}

/// All of the text is a number.
template <typename Number = uint64_t>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The number that the next field is.
inline std::optional<uint64_t> take_number(std::string_view& text) { return whole_number(take_field(text)); }

/// The number after `name` at the beginning of a line, as in "nr_throttled 12" or "VmRSS:  12 kB".
inline std::optional<uint64_t> number_after(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.empty() || (line.front() != ' ' && line.front() != ':' && line.front() != '\t')) continue;
    if (line.front() == ':') line.remove_prefix(1);
    return take_number(line);
  }
  return std::nullopt;
}

}  // namespace eroica
