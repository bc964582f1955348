#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace eroica {

/// Of a regular file of ours, through no link, from the offset on and at most so many bytes; empty where it is none.
std::string read_own_file(const std::string& path, int64_t offset, int64_t most_bytes);

/// Of a regular file, through no link at its end; −1: none.
int64_t file_size(const std::string& path);

/// Writes a file of ours, 0600, whole or not at all. Error kWrite.
Status write_own_file(const std::string& path, std::string_view bytes);

}  // namespace eroica
