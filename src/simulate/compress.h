#pragma once

#include <string>
#include <string_view>

namespace eroica {

/// One zstd frame, at a level that keeps up with the writer. The same bytes for the same input.
std::string zstd_file(std::string_view bytes);
/// One gzip member without name and time.
std::string gzip_file(std::string_view bytes);

}  // namespace eroica
