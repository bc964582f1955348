// Any bytes are read without a crash or a hang, and how they are cut into blocks does not show in the result.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trace/kineto_reader.h"

namespace {

struct Summary {
  bool ok = false;
  uint64_t timed_events = 0;
  eroica::Defects defects;
  std::array<uint64_t, eroica::kCategoryCount> category_count{};
  std::array<int64_t, eroica::kCategoryCount> category_ns{};
  size_t tracks = 0;
  uint32_t names = 0;
};

Summary read(std::string_view text, size_t block_bytes, size_t max_read) {
  const eroica::Result<eroica::Trace> trace =
      eroica::read_kineto(eroica::memory_source(text, max_read), {.block_bytes = block_bytes, .progress = {}});
  if (!trace.ok()) return {};
  return {true,
          trace->timed_events,
          trace->defects,
          trace->category_count,
          trace->category_ns,
          trace->tracks.size(),
          trace->names.size()};
}

bool same(const Summary& a, const Summary& b) {
  return a.ok == b.ok && a.timed_events == b.timed_events && a.defects.count == b.defects.count &&
         a.category_count == b.category_count && a.category_ns == b.category_ns && a.tracks == b.tracks &&
         a.names == b.names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = 1 + size_t{data[0]} * 3;
  if (!same(read(text, size_t{1} << 20, SIZE_MAX), read(text, cut, cut))) std::abort();
  return 0;
}
