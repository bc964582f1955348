#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ZSTD_DCtx_s;

namespace eroica {

/// One zstd frame with its size and a checksum. The same bytes for the same input and library version.
std::string zstd_block(std::string_view bytes);

/// Undoes zstd_block. Keeps what unpacking needs from one block to the next: setting it up takes longer than unpacking
/// a few kilobytes.
class ZstdUnpacker {
 public:
  ZstdUnpacker();
  /// The bytes, valid until the next call; none when the block is damaged, no such frame, or would be longer than
  /// `max_bytes`.
  std::optional<std::string_view> unpack(std::string_view block, size_t max_bytes);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::string bytes_;
};

/// The same for a single block.
std::optional<std::string> unzstd_block(std::string_view block, size_t max_bytes);

}  // namespace eroica
