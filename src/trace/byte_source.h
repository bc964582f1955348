#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace eroica {

/// A stream of bytes, read front to back.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the front of `into` with at least one byte and returns how many; 0 = end of data.
  virtual Result<size_t> read(std::span<char> into) = 0;
};

/// Opens a regular file (links are followed; directories, sockets, devices and loops are errors that name the path).
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path);

/// Reads from memory; the bytes must outlive the source. `max_read` limits what one read returns (for tests).
std::unique_ptr<ByteSource> memory_source(std::string_view bytes, size_t max_read = SIZE_MAX);

/// How a compressed stream ended.
struct StreamEnd {
  bool truncated = false;
  bool damaged = false;  ///< bad checksum or bad block
  std::string what;      ///< in words, with the compressed offset
};

/// Plain, gzip (several members) or zstd (several frames) by content, never by name. Damage inside the compressed
/// stream ends the data early and is told in end(); it is not an error of read().
class DecompressedSource : public ByteSource {
 public:
  [[nodiscard]] virtual const StreamEnd& end() const = 0;
  /// Compressed bytes taken from the input so far (for progress).
  [[nodiscard]] virtual uint64_t consumed_bytes() const = 0;
};
std::unique_ptr<DecompressedSource> decompress(std::unique_ptr<ByteSource> input);

}  // namespace eroica
