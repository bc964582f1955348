// Any bytes are decompressed without a crash or a hang, the same way whatever the sizes of the reads.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trace/byte_source.h"

namespace {

constexpr size_t kEnough = size_t{1} << 20;  // a small input can be a very large text

std::string front_of(std::string_view bytes, size_t max_read, size_t buffer_bytes) {
  const auto source = eroica::decompress(eroica::memory_source(bytes, max_read));
  std::vector<char> buffer(buffer_bytes);
  std::string text;
  while (text.size() < kEnough) {
    const eroica::Result<size_t> got = source->read(buffer);
    if (!got.ok()) std::abort();  // memory cannot fail to be read
    if (*got == 0) break;
    text.append(buffer.data(), *got);
  }
  text.resize(std::min(text.size(), kEnough));
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = front_of(bytes, SIZE_MAX, size_t{64} << 10);
  const std::string pieces = front_of(bytes, 1 + data[0], 1 + size_t{data[0]} * 7);
  // Damage may be noticed a little earlier or later, but the text before it is the same.
  const size_t common = std::min(whole.size(), pieces.size());
  if (whole.compare(0, common, pieces, 0, common) != 0) std::abort();
  return 0;
}
