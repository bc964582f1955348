#include "agent/step_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kSlotsAtOnce = 16;

/// nullopt: an empty slot, or one that is just being written, or none of a probe's.
std::optional<StepMessage> decode_slot(std::string_view bytes, size_t slot) {
  std::optional<StepMessage> step = decode_step(bytes);
  if (step && static_cast<uint64_t>(step->record.step) % kRingSlots != slot) step.reset();
  return step;
}

/// Sealed memory: a read never waits for a device or another process, and finds all bytes.
bool is_ring(int file, struct stat& found) {
  const int seals = fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_size == static_cast<off_t>(kRingBytes);
}

}  // namespace

void RingCursor::take(const ReadRing& read, std::vector<StepMessage>& records) {
  if (next_ == 0) return take_all(read, records);
  std::array<char, kSlotsAtOnce * kStepBytes> part{};
  for (size_t taken = 0; taken < kRingSlots;) {
    const size_t first = static_cast<size_t>(next_) % kRingSlots;
    const size_t count = std::min(kSlotsAtOnce, kRingSlots - first);
    if (!read(first * kStepBytes, std::span(part).first(count * kStepBytes))) return;
    for (size_t i = 0; i < count; ++i, ++taken) {
      const std::optional<StepMessage> message = decode_slot({part.data() + i * kStepBytes, kStepBytes}, first + i);
      if (!message || message->record.step < next_) return;
      if (message->record.step > next_) return take_all(read, records);
      records.push_back(*message);
      ++next_;
    }
  }
}

void RingCursor::take_all(const ReadRing& read, std::vector<StepMessage>& records) {
  std::vector<char> bytes(kRingBytes);
  if (!read(0, bytes)) return;
  const auto old_size = static_cast<ptrdiff_t>(records.size());
  for (size_t slot = 0; slot < kRingSlots; ++slot) {
    const std::optional<StepMessage> message = decode_slot({bytes.data() + slot * kStepBytes, kStepBytes}, slot);
    if (message && message->record.step >= next_) records.push_back(*message);
  }
  const auto begin = records.begin() + old_size;
  if (begin == records.end()) return;
  std::sort(begin, records.end(), [](const auto& a, const auto& b) { return a.record.step < b.record.step; });
  const int64_t last = records.back().record.step;
  const int64_t first = next_ == 0 ? begin->record.step : next_;
  lost_ += static_cast<uint64_t>(last - first + 1 - (records.end() - begin));
  next_ = last + 1;
}

void StepRings::add(pid_t pid, Descriptor ring) {
  struct stat found {};
  if (!is_ring(ring.number(), found)) return;
  Ring& known = rings_[pid];
  if (known.file.number() >= 0 && known.device == found.st_dev && known.inode == found.st_ino) return;
  known = {std::move(ring), found.st_dev, found.st_ino, {}};
}

std::vector<StepMessage> StepRings::take(pid_t pid) {
  std::vector<StepMessage> records;
  const auto ring = rings_.find(pid);
  if (ring == rings_.end()) return records;
  const ReadRing read = [file = ring->second.file.number()](size_t offset, std::span<char> to) {
    return pread(file, to.data(), to.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(to.size());
  };
  ring->second.cursor.take(read, records);
  return records;
}

uint64_t StepRings::lost(pid_t pid) const {
  const auto ring = rings_.find(pid);
  return ring == rings_.end() ? 0 : ring->second.cursor.lost();
}

}  // namespace eroica
