#pragma once

#include <span>
#include <string_view>

namespace eroica {

/// The word that `word` was probably meant to be: the one with the fewest edits, as long as they are few for its
/// length; of several the first. Empty: none is near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

}  // namespace eroica
