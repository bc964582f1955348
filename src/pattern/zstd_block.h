#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace eroica {

/// One zstd frame with its size and a checksum. The same bytes for the same input and library version.
std::string zstd_block(std::string_view bytes);

/// Undoes zstd_block; none when it is damaged, no such frame, or would be longer than `max_bytes`.
std::optional<std::string> unzstd_block(std::string_view block, size_t max_bytes);

}  // namespace eroica
