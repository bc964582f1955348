#pragma once

#include <span>
#include <string>
#include <string_view>

namespace eroica {

/// The word that `word` was probably meant to be: the one with the fewest edits, as long as they are few for its
/// length; of several the first. Empty: none is near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

/// A piece of somebody's text as a message may show it: in quotes, cut at 60 bytes.
std::string quoted(std::string_view text);

/// "unknown key 'colour'; did you mean 'color'?", or what is expected where no word is near and there are at most 16.
std::string unknown_word(std::string_view what, std::string_view word, std::span<const std::string_view> known);

}  // namespace eroica
