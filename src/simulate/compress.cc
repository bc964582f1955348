#include "simulate/compress.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <limits>
#include <stdexcept>

namespace eroica {

std::string zstd_file(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  if (ZSTD_isError(size) != 0) throw std::runtime_error("the zstd compressor failed");
  out.resize(size);
  return out;
}

std::string gzip_file(std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<uint32_t>::max() / 2) throw std::runtime_error("too long for one gzip member");
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  std::string levels(ISAL_DEF_LVL1_DEFAULT, '\0');
  std::string out(bytes.size() / 2 + 100'000, '\0');
  stream.level = 1;
  stream.level_buf = reinterpret_cast<uint8_t*>(levels.data());
  stream.level_buf_size = static_cast<uint32_t>(levels.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uint32_t>(bytes.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  if (isal_deflate_stateless(&stream) != COMP_OK) throw std::runtime_error("the gzip compressor failed");
  out.resize(stream.total_out);
  return out;
}

}  // namespace eroica
