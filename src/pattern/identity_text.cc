#include "pattern/identity_text.h"

#include <fmt/core.h>

#include "base/hash.h"
#include "pattern/text.h"

namespace eroica {

std::string without_addresses(std::string_view text) {
  constexpr size_t kShortestAddress = 6;
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const size_t at = text.find("0x");
    kept += text.substr(0, at);
    if (at == std::string_view::npos) {
      break;
    }
    size_t end = at + 2;
    while (end < text.size() && is_hex_digit(text[end])) {
      ++end;
    }
    const bool begins_word = at == 0 || !is_word_char(text[at - 1]);
    if (begins_word && end - at - 2 >= kShortestAddress) {
      for (std::string_view before : {" at ", " object"}) {
        if (kept.ends_with(before)) {
          kept.resize(kept.size() - before.size());
        }
      }
    } else {
      kept += text.substr(at, end - at);
    }
    text.remove_prefix(end);
  }
  return kept;
}

std::string bounded_identity(std::string_view text) {
  std::string clean = clean_text(text, text.size() + 3);
  if (clean.size() <= kLongestIdentityBytes) {
    return clean;
  }
  return clean_text(clean, kLongestIdentityBytes - 16) + fmt::format("{:016x}", hash_bytes(text));
}

void set_text(CanonicalName& name, std::string_view shown, std::string_view whole) {
  const std::string full = bounded_identity(whole);
  name.text = clean_text(shown, kLongestShownBytes);
  name.full = name.text == full ? std::string() : full;
}

}  // namespace eroica
