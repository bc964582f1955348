// Any bytes are read as an operation timeline or refused in words, and how they are cut into blocks does not show.
// What is read is analysed.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compare/timeline_what_if.h"
#include "trace/op_timeline.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

eroica::Result<eroica::OpTimeline> read(std::string_view text, size_t max_read) {
  return eroica::read_op_timeline(eroica::memory_source(text, max_read), "fuzz", {.json_bytes = size_t{1} << 20});
}

bool same(const eroica::OpTimeline& a, const eroica::OpTimeline& b) {
  return a.workers == b.workers && a.worker == b.worker && a.step == b.step && a.type == b.type && a.name == b.name &&
         a.start_ns == b.start_ns && a.duration_ns == b.duration_ns && a.sequence == b.sequence && a.chunk == b.chunk &&
         a.micro_batch == b.micro_batch && a.defects.count == b.defects.count && a.first_bad_line == b.first_bad_line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)eroica::is_op_timeline(text);
  const auto whole = read(text, SIZE_MAX);
  const auto pieces = read(text, 1 + size_t{data[0]} * 3);
  require(whole.ok() == pieces.ok());
  if (!whole.ok()) {
    require(whole.error().message.starts_with("fuzz:"));
    return 0;
  }
  require(same(*whole, *pieces));
  const eroica::TimelineReport report = eroica::analyze_timeline(*whole);
  require(std::isfinite(report.slowdown_even) && std::isfinite(report.slowdown));
  return 0;
}
