#include "pattern/zstd_block.h"

#include <memory>
#include <new>

#include <zstd.h>

namespace eroica {
namespace {
constexpr int kLevel = 9;
}  // namespace

std::string zstd_block(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  std::string block(ZSTD_compressBound(bytes.size()), '\0');
  if (context == nullptr) {
    throw std::bad_alloc();
  }
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context.get(), block.data(), block.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) {  // with room for the worst case only memory can be lacking
    throw std::bad_alloc();
  }
  block.resize(size);
  return block;
}

void ZstdUnpacker::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

ZstdUnpacker::ZstdUnpacker() : context_(ZSTD_createDCtx()) {
  if (context_ == nullptr) {
    throw std::bad_alloc();
  }
}

std::optional<std::string_view> ZstdUnpacker::unpack(std::string_view block, size_t max_bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(block.data(), block.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > max_bytes) {
    return std::nullopt;
  }
  if (ZSTD_findFrameCompressedSize(block.data(), block.size()) != block.size()) {
    return std::nullopt;
  }
  if (bytes_.size() < size) {
    bytes_.resize(size);
  }
  if (ZSTD_decompressDCtx(context_.get(), bytes_.data(), size, block.data(), block.size()) != size) {
    return std::nullopt;
  }
  return std::string_view(bytes_).substr(0, size);
}

std::optional<std::string> unzstd_block(std::string_view block, size_t max_bytes) {
  ZstdUnpacker unpacker;
  const std::optional<std::string_view> bytes = unpacker.unpack(block, max_bytes);
  return bytes ? std::optional<std::string>(*bytes) : std::nullopt;
}

}  // namespace eroica
