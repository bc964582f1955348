#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace eroica {

/// What files of rules and policies may have at most, and one byte more, so that their readers see what is too large.
inline constexpr size_t kMostTextBytes = (size_t{1} << 20) + 1;

/// The first `most_bytes` of a regular file. Errors: kNotFound, kUnreadable.
Result<std::string> read_text_file(const std::string& path, size_t most_bytes = kMostTextBytes);

}  // namespace eroica
