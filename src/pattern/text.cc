#include "pattern/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace eroica {
namespace {

constexpr std::string_view kEllipsis = "…";

/// The length of the valid UTF-8 sequence at the front (no overlong forms, surrogates or values past U+10FFFF); 0 =
/// none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  size_t length = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
  }
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = byte(1);
  const bool out_of_range = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                            (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return out_of_range ? 0 : length;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Are these eight bytes all ASCII without control characters?
bool is_plain(uint64_t bytes) {
  constexpr uint64_t kEach = 0x0101010101010101;
  constexpr uint64_t kHighest = kEach * 0x80;
  const uint64_t below_space = (bytes - kEach * 0x20) & ~bytes;
  const uint64_t from_delete = bytes + kEach;  // also what is not ASCII, unless a carry came into it from another
  return ((below_space | from_delete | bytes) & kHighest) == 0;
}

}  // namespace

bool is_clean_text(std::string_view text) {
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof bytes);
    if (!is_plain(bytes)) break;
    text.remove_prefix(sizeof bytes);
  }
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0 || is_control(text[0])) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::string clean_text(std::string_view text, size_t max_bytes) {
  std::string clean;
  clean.reserve(std::min(text.size(), max_bytes));
  size_t cut = 0;  // where the text ends if the ellipsis must fit behind it
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const size_t bytes = std::max<size_t>(length, 1);
    if (clean.size() + bytes > max_bytes) {
      clean.resize(cut);
      clean += kEllipsis;
      return clean;
    }
    if (length == 0) {
      clean += '?';
    } else if (is_control(text[0])) {
      clean += ' ';
    } else {
      clean += text.substr(0, length);
    }
    text.remove_prefix(bytes);
    if (clean.size() + kEllipsis.size() <= max_bytes) {
      cut = clean.size();
    }
  }
  return clean;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_word_char(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

}  // namespace eroica
