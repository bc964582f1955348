// Rings of steps are written by the jobs while they are read: whatever stands in them, and however it changes, records
// come in the order of their steps, each once.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/step_ring.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

/// The input is a list of writes: two bytes say where, one how, the rest of 64 is what.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kWrite = 3 + eroica::kStepBytes;
  std::string bytes(eroica::kRingBytes, '\0');
  eroica::RingCursor cursor;
  bool fails = false;
  const eroica::ReadRing read = [&](size_t offset, std::span<char> to) {
    require(offset <= bytes.size() && to.size() <= bytes.size() - offset);
    std::copy_n(bytes.data() + offset, to.size(), to.data());
    return !fails;
  };
  int64_t last = 0;
  for (; size >= kWrite; data += kWrite, size -= kWrite) {
    const size_t slot = (size_t{data[0]} | size_t{data[1]} << 8) % eroica::kRingSlots;
    const unsigned how = data[2];
    std::string content(reinterpret_cast<const char*>(data) + 3, eroica::kStepBytes);
    if ((how & 1) == 0) {  // one that holds
      std::array<uint64_t, 8> words{};
      std::memcpy(words.data(), content.data(), content.size());
      if ((how & 2) == 0) words[0] = (words[0] & 0xffff) / eroica::kRingSlots * eroica::kRingSlots + slot;
      words[7] = std::accumulate(words.begin(), words.end() - 1, uint64_t{0x4552'4f49'4341}) & ~uint64_t{0} >> 1;
      std::memcpy(content.data(), words.data(), content.size());
    }
    bytes.replace(slot * eroica::kStepBytes, eroica::kStepBytes, content);
    fails = (how & 12) == 12;
    if ((how & 16) != 0) continue;
    std::vector<eroica::StepMessage> records;
    cursor.take(read, records);
    require(records.size() <= 2 * eroica::kRingSlots);
    for (const eroica::StepMessage& record : records) {
      require(record.record.step > last && record.record.rank >= 0);
      last = record.record.step;
    }
  }
  return 0;
}
