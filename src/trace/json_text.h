#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace eroica {

/// Small readers of single JSON tokens, tolerant where traces are known to be wrong. All are pure.

[[nodiscard]] constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
/// memcmp(a, b, kSize) == 0 by a few word compares, which compilers do not make of a memcmp of odd size.
template <size_t kSize>
[[nodiscard]] bool same_bytes(const char* a, const char* b) {
  if constexpr (kSize > 16) {
    return std::memcmp(a, b, 8) == 0 && same_bytes<kSize - 8>(a + 8, b + 8);
  } else {
    constexpr size_t kWord = std::bit_floor(kSize < 8 ? kSize : 8);
    constexpr size_t kLast = kSize - kWord;
    return std::memcmp(a, b, kWord) == 0 && (kLast == 0 || std::memcmp(a + kLast, b + kLast, kWord) == 0);
  }
}
/// text == literal, where the compiler knows the length.
template <size_t N>
[[nodiscard]] bool is(std::string_view text, const char (&literal)[N]) {
  return text.size() == N - 1 && same_bytes<N - 1>(text.data(), literal);
}
/// a == b, quickly for short ones.
[[nodiscard]] inline bool same_text(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  const auto same_ends = [&](auto word) {
    constexpr size_t kWord = sizeof(word);
    return std::memcmp(a.data(), b.data(), kWord) == 0 &&
           std::memcmp(a.data() + size - kWord, b.data() + size - kWord, kWord) == 0;
  };
  if (size <= 16 && size >= 8) return same_ends(uint64_t{});
  if (size < 8 && size >= 4) return same_ends(uint32_t{});
  return a == b;
}
[[nodiscard]] std::string_view trim(std::string_view text);
/// Whether a token begins and ends with a quote.
[[nodiscard]] inline bool is_string(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"';
}
/// The token as it is when it has none.
[[nodiscard]] inline std::string_view without_quotes(std::string_view token) {
  return is_string(token) ? token.substr(1, token.size() - 2) : token;
}

struct Unescaped {
  bool cut = false;       ///< longer than allowed
  bool repaired = false;  ///< bad escapes, lone surrogates, raw control characters
  bool invalid_utf8 = false;
};
/// The text of a string token's body, appended to `out`: escapes resolved, bad ones kept as written, control
/// characters as spaces, bytes that are not UTF-8 as U+FFFD; at most `max_bytes`, cut between characters.
Unescaped unescape(std::string_view body, size_t max_bytes, std::string& out);

enum class NumberStatus { kOk, kNotANumber, kTooLarge };
/// A decimal number (perhaps in quotes, perhaps with an exponent) times 10^scale as an exact integer, the rest
/// rounded half away from zero. kTooLarge: it does not fit.
NumberStatus parse_scaled(std::string_view token, int scale, int64_t& value);
/// Most numbers are one to eight digits and nothing else; false for others.
inline bool few_digits(std::string_view token, int64_t& value) {
  if (token.size() - 1 >= 8) return false;
  int64_t digits = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return false;
    digits = digits * 10 + (c - '0');
  }
  value = digits;
  return true;
}
/// Microseconds as traces write them, in nanoseconds.
inline NumberStatus parse_us_as_ns(std::string_view token, int64_t& ns) {
  if (!few_digits(token, ns)) return parse_scaled(token, 3, ns);
  ns *= 1000;
  return NumberStatus::kOk;
}
inline NumberStatus parse_integer(std::string_view token, int64_t& value) {
  return few_digits(token, value) ? NumberStatus::kOk : parse_scaled(token, 0, value);
}
/// A finite number, perhaps in quotes.
bool parse_double(std::string_view token, double& value);

/// JSON text on one line: runs of whitespace outside strings removed, one space after each comma and colon.
std::string compact_json(std::string_view text);

/// The members of an object's text, in order: visit(key as written, value token). Stops at the first damage.
template <typename Visit>
void for_each_member(std::string_view object, Visit&& visit);

/// The length of the JSON value that `text` begins with, by quotes and brackets alone; 0 when it does not end.
size_t value_length(std::string_view text);

template <typename Visit>
void for_each_member(std::string_view object, Visit&& visit) {
  if (object.empty() || object.front() != '{') return;
  std::string_view rest = trim(object.substr(1));
  while (!rest.empty() && rest.front() == '"') {
    const size_t key_length = value_length(rest);
    if (key_length == 0) return;
    const std::string_view key = rest.substr(1, key_length - 2);
    rest = trim(rest.substr(key_length));
    if (rest.empty() || rest.front() != ':') return;
    rest = trim(rest.substr(1));
    const size_t length = value_length(rest);
    if (length == 0) return;
    visit(key, trim(rest.substr(0, length)));
    rest = trim(rest.substr(length));
    if (rest.empty() || rest.front() != ',') return;
    rest = trim(rest.substr(1));
  }
}

}  // namespace eroica
