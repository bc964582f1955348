#include "trace/json_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace eroica {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The length of the UTF-8 character that `text` begins with; 0 when it is none.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = at(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

void append_utf8(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

/// The value of "\uXXXX" at the front of `text`, −1 when it is none.
int32_t code_unit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return -1;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, value, 16);
  return error == std::errc() && end == text.data() + 6 ? static_cast<int32_t>(value) : -1;
}

char simple_escape(char c) {
  switch (c) {
    case 'n':
    case 'r':
    case 't':
    case 'b':
    case 'f':
      return ' ';
    case '"':
    case '\\':
    case '/':
      return c;
    default:
      return '\0';
  }
}

/// Resolves the escape at the front of `body` and returns how many bytes it took.
size_t append_escape(std::string_view body, std::string& out, Unescaped& result) {
  const char simple = body.size() > 1 ? simple_escape(body[1]) : '\0';
  if (simple != '\0') {
    out.push_back(simple);
    return 2;
  }
  const int32_t high = code_unit(body);
  if (high < 0) {
    result.repaired = true;
    out.push_back('\\');
    return 1;
  }
  const auto unit = static_cast<uint32_t>(high);
  if (unit >= 0xd800 && unit < 0xdc00) {
    const int32_t low = code_unit(body.substr(6));
    if (low >= 0xdc00 && low < 0xe000) {
      append_utf8(0x10000 + ((unit - 0xd800) << 10) + (static_cast<uint32_t>(low) - 0xdc00), out);
      return 12;
    }
  }
  if (unit >= 0xd800 && unit < 0xe000) {
    result.repaired = true;
    out.append(kReplacement);
  } else if (unit < 0x20) {
    out.push_back(' ');
  } else {
    append_utf8(unit, out);
  }
  return 6;
}

constexpr std::array<uint64_t, 20> kPowersOfTen = [] {
  std::array<uint64_t, 20> powers{};
  uint64_t power = 1;
  for (uint64_t& one : powers) {
    one = power;
    power *= 10;
  }
  return powers;
}();

/// Reads eight digits at once if eight stand at `at`.
bool eight_digits(std::string_view text, size_t at, uint64_t& value) {
  if (at + 8 > text.size()) return false;
  uint64_t word = 0;
  std::memcpy(&word, text.data() + at, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) return false;
  word -= 0x3030303030303030U;  // each byte a digit's value, the first digit lowest
  if (((word + 0x7676767676767676U) | word) & 0x8080808080808080U) return false;
  word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffU;
  word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffU;
  value = (word * 10000 + (word >> 32)) & 0xffffffffU;
  return true;
}

/// digits × 10^exponent as an integer.
NumberStatus apply_exponent(uint64_t digits, int exponent, bool negative, int64_t& value) {
  uint64_t magnitude = digits;
  if (exponent > 0 && digits != 0) {
    if (exponent > 18 || __builtin_mul_overflow(digits, kPowersOfTen[static_cast<size_t>(exponent)], &magnitude)) {
      return NumberStatus::kTooLarge;
    }
  } else if (exponent < 0) {
    if (exponent < -19) {
      magnitude = 0;
    } else {
      const uint64_t divisor = kPowersOfTen[static_cast<size_t>(-exponent)];
      magnitude = digits / divisor;
      if (digits % divisor >= divisor - divisor / 2) ++magnitude;
    }
  }
  if (magnitude > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return NumberStatus::kTooLarge;
  value = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  return NumberStatus::kOk;
}

/// Any decimal number: 19 significant digits are looked at, which is all that an int64 can hold.
NumberStatus parse_any_decimal(std::string_view text, int scale, int64_t& value) {
  size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  uint64_t digits = 0;
  int significant = 0;
  int64_t exponent = scale;
  bool any = false;
  bool fraction = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !fraction)); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    any = true;
    if (significant < 19) {
      digits = digits * 10 + static_cast<uint64_t>(text[at] - '0');
      if (digits != 0) ++significant;
      if (fraction) --exponent;
    } else if (!fraction) {
      ++exponent;
    }
  }
  if (!any) return NumberStatus::kNotANumber;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at + 1 < text.size() && text[at] == '+' && is_digit(text[at + 1])) ++at;
    int written = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), written);
    const bool huge = error == std::errc::result_out_of_range;
    if ((error != std::errc() && !huge) || end != text.data() + text.size()) return NumberStatus::kNotANumber;
    exponent += huge ? (text[at] == '-' ? -100000 : 100000) : written;
    at = text.size();
  }
  if (at != text.size()) return NumberStatus::kNotANumber;
  return apply_exponent(digits, static_cast<int>(std::clamp<int64_t>(exponent, -100, 100)), negative, value);
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

Unescaped unescape(std::string_view body, size_t max_bytes, std::string& out) {
  Unescaped result;
  const size_t begin = out.size();
  while (!body.empty()) {
    const size_t before = out.size();
    const char c = body.front();
    if (c == '\\') {
      body.remove_prefix(append_escape(body, out, result));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result.repaired = true;
      out.push_back(' ');
      body.remove_prefix(1);
    } else if (const size_t length = utf8_length(body); length > 0) {
      out.append(body.substr(0, length));
      body.remove_prefix(length);
    } else {
      result.invalid_utf8 = true;
      out.append(kReplacement);
      body.remove_prefix(1);
    }
    if (out.size() - begin > max_bytes) {
      out.resize(before);
      result.cut = true;
      break;
    }
  }
  return result;
}

NumberStatus parse_scaled(std::string_view token, int scale, int64_t& value) {
  const std::string_view text = without_quotes(token);
  // What traces are made of: digits, perhaps a point, few enough that nothing overflows.
  const bool negative = !text.empty() && text[0] == '-';
  size_t at = negative ? 1 : 0;
  const size_t first = at;
  uint64_t digits = 0;
  if (eight_digits(text, at, digits)) {
    at += 8;
    if (uint64_t more = 0; eight_digits(text, at, more)) {
      digits = digits * 100'000'000 + more;
      at += 8;
    }
  }
  while (at < text.size() && is_digit(text[at])) {
    digits = digits * 10 + static_cast<uint64_t>(text[at] - '0');
    ++at;
  }
  int decimals = 0;
  if (at > first && at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && decimals < scale && is_digit(text[at])) {
      digits = digits * 10 + static_cast<uint64_t>(text[at] - '0');
      ++at;
      ++decimals;
    }
  }
  constexpr size_t kMostCharacters = 19;  // below 2^64, with or without a point
  const bool plain = at == text.size() && at > first && at - first <= kMostCharacters;
  if (!plain || __builtin_mul_overflow(digits, kPowersOfTen[static_cast<size_t>(scale - decimals)], &digits) ||
      digits > static_cast<uint64_t>(INT64_MAX)) {
    return parse_any_decimal(trim(text), scale, value);
  }
  value = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
  return NumberStatus::kOk;
}

bool parse_double(std::string_view token, double& value) {
  const std::string_view text = trim(without_quotes(token));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::string compact_json(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out.push_back(c);
      if (c == '\\' && i + 1 < text.size()) {
        out.push_back(text[++i]);
      } else if (c == '"') {
        in_string = false;
      }
    } else if (!is_space(c)) {
      out.push_back(c);
      if (c == ',' || c == ':') out.push_back(' ');
      in_string = c == '"';
    }
  }
  return out;
}

size_t value_length(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
        if (depth == 0) return i + 1;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']' || c == ',') {
      if (depth == 0) return i;
      if (c != ',' && --depth == 0) return i + 1;
    }
  }
  return 0;
}

}  // namespace eroica
