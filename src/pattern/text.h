#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace eroica {

/// Valid UTF-8 of at most `max_bytes` (at least 3): each byte that is not part of a valid sequence becomes '?', control
/// characters become spaces, and what is too long is cut between characters and ends in "…". Idempotent.
std::string clean_text(std::string_view text, size_t max_bytes);

/// Is it valid UTF-8 without control characters, as clean_text leaves it?
bool is_clean_text(std::string_view text);

/// Letters, digits and '_'.
bool is_word_char(char c);
bool is_digit(char c);
bool is_hex_digit(char c);
/// Not empty, and every character is a digit.
bool all_digits(std::string_view text);

}  // namespace eroica
