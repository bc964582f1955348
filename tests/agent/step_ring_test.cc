#include "agent/step_ring.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A slot as the probe writes it.
std::string slot_bytes(int64_t step) {
  const auto number = static_cast<uint64_t>(step);
  std::array<uint64_t, 8> words = {number, number * 1000, 7, 0, uint64_t{2} << 32 | 9, 3, 0, 0};
  words[7] = std::accumulate(words.begin(), words.end() - 1, uint64_t{0x4552'4f49'4341}) & ~uint64_t{0} >> 1;
  return {reinterpret_cast<const char*>(words.data()), kStepBytes};
}

struct Ring {
  std::string bytes = std::string(kRingBytes, '\0');
  RingCursor cursor;

  void write(int64_t step) {
    bytes.replace(static_cast<size_t>(step) % kRingSlots * kStepBytes, kStepBytes, slot_bytes(step));
  }
  void write(int64_t first, int64_t last) {
    for (int64_t step = first; step <= last; ++step) write(step);
  }
  std::vector<int64_t> take() {
    std::vector<StepMessage> records;
    const auto read = [this](size_t offset, std::span<char> to) {
      EXPECT_LE(offset + to.size(), bytes.size());
      std::copy_n(bytes.data() + offset, to.size(), to.data());
      return true;
    };
    cursor.take(read, records);
    std::vector<int64_t> steps;
    for (const StepMessage& record : records) steps.push_back(record.record.step);
    return steps;
  }
};

std::vector<int64_t> range(int64_t first, int64_t last) {
  std::vector<int64_t> steps;
  for (int64_t step = first; step <= last; ++step) steps.push_back(step);
  return steps;
}

TEST(RingCursor, TakesEachRecordOnce) {
  Ring ring;
  EXPECT_THAT(ring.take(), IsEmpty());
  ring.write(1);
  EXPECT_THAT(ring.take(), ElementsAre(1));
  EXPECT_THAT(ring.take(), IsEmpty());
  ring.write(2, 40);
  EXPECT_EQ(ring.take(), range(2, 40));
  ring.write(41, 1040);  // round the end
  EXPECT_EQ(ring.take(), range(41, 1040));
  EXPECT_EQ(ring.cursor.lost(), 0);
}

TEST(RingCursor, BeginsWithWhatIsThere) {
  Ring ring;
  ring.write(1, 5000);
  EXPECT_EQ(ring.take(), range(5000 - 1023, 5000));
  EXPECT_EQ(ring.cursor.lost(), 0);
}

TEST(RingCursor, CountsWhatItCameTooLateFor) {
  Ring ring;
  ring.write(1, 10);
  ring.take();
  ring.write(11, 3000);
  EXPECT_EQ(ring.take(), range(3000 - 1023, 3000));
  EXPECT_EQ(ring.cursor.lost(), 3000 - 1024 - 10);
}

TEST(RingCursor, WaitsForARecordThatIsHalfWritten) {
  Ring ring;
  ring.write(1, 3);
  ring.take();
  const std::string whole = slot_bytes(4);
  for (size_t written = 0; written < whole.find_last_not_of('\0'); ++written) {
    ring.bytes.replace(4 * kStepBytes, written, whole, 0, written);
    EXPECT_THAT(ring.take(), IsEmpty()) << written;
  }
  ring.write(4);
  ring.write(5);
  EXPECT_EQ(ring.take().back(), 5);
  EXPECT_EQ(ring.cursor.lost(), 0);
}

TEST(RingCursor, GoesOnAfterASlotThatStaysBroken) {
  Ring ring;
  ring.write(1, 10);
  ring.bytes[5 * kStepBytes + 10] ^= 1;
  EXPECT_EQ(ring.take().size(), 9);  // there from the beginning: not waited for
  EXPECT_EQ(ring.cursor.lost(), 1);
  ring.write(11, 20);
  ring.bytes[15 * kStepBytes + 10] ^= 1;
  EXPECT_EQ(ring.take(), range(11, 14));
  EXPECT_THAT(ring.take(), IsEmpty());
  ring.write(21, 1100);
  std::vector<int64_t> rest = ring.take();
  EXPECT_EQ(rest, range(1100 - 1023, 1100));
  EXPECT_EQ(ring.cursor.lost(), 1 + 1100 - 1024 - 14);
}

TEST(RingCursor, TakesNoRecordOfAnotherSlot) {
  Ring ring;
  ring.bytes.replace(7 * kStepBytes, kStepBytes, slot_bytes(8));
  EXPECT_THAT(ring.take(), IsEmpty());
  for (const int64_t step : {int64_t{0}, int64_t{-5}, std::numeric_limits<int64_t>::max()}) {
    Ring other;
    other.bytes.replace(static_cast<size_t>(step & 1023) * kStepBytes, kStepBytes, slot_bytes(step));
    EXPECT_THAT(other.take(), IsEmpty()) << step;
  }
}

RC_GTEST_PROP(RingCursor, LosesNothingThatItDoesNotCount, ()) {
  Ring ring;
  int64_t written = 0;
  uint64_t taken = 0;
  int64_t last = 0;
  for (const int more : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3000))) {
    ring.write(written + 1, written + more);
    written += more;
    const bool first = taken == 0;
    const std::vector<int64_t> steps = ring.take();
    RC_ASSERT(std::ranges::is_sorted(steps));
    if (first && !steps.empty()) last = steps.front() - 1;
    if (!steps.empty()) RC_ASSERT(steps.front() > last);
    if (!steps.empty()) last = steps.back();
    taken += steps.size();
    RC_ASSERT(last == written);
  }
  const uint64_t before_first = written == 0 ? 0 : static_cast<uint64_t>(written) - taken - ring.cursor.lost();
  RC_ASSERT(before_first < 3000);
}

/// A sealed memory file of a size.
int memory_file(size_t size, unsigned seals) {
  const int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(file, static_cast<off_t>(size)), 0);
  EXPECT_EQ(fcntl(file, F_ADD_SEALS, seals), 0);
  return file;
}

constexpr unsigned kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

void write_step(int file, int64_t step) {
  const std::string slot = slot_bytes(step);
  const auto offset = static_cast<off_t>(static_cast<size_t>(step) % kRingSlots * kStepBytes);
  ASSERT_EQ(pwrite(file, slot.data(), slot.size(), offset), static_cast<ssize_t>(slot.size()));
}

TEST(StepRings, ReadARing) {
  StepRings rings;
  const int file = memory_file(kRingBytes, kSeals);
  write_step(file, 1);
  rings.add(100, Descriptor(dup(file)));
  EXPECT_EQ(rings.take(100).size(), 1);
  write_step(file, 2);
  rings.add(100, Descriptor(dup(file)));  // told once more
  EXPECT_EQ(rings.take(100).size(), 1);
  EXPECT_EQ(rings.take(101).size(), 0);
  rings.remove(100);
  EXPECT_EQ(rings.take(100).size(), 0);
  close(file);
}

TEST(StepRings, TheProcessHasAnotherNow) {
  StepRings rings;
  const int first = memory_file(kRingBytes, kSeals);
  for (int64_t step = 1; step <= 5; ++step) write_step(first, step);
  rings.add(100, Descriptor(first));
  EXPECT_EQ(rings.take(100).size(), 5);
  const int second = memory_file(kRingBytes, kSeals);
  write_step(second, 1);
  rings.add(100, Descriptor(second));
  EXPECT_EQ(rings.take(100).size(), 1);
}

TEST(StepRings, RefuseWhatIsNoRing) {
  StepRings rings;
  std::array<int, 2> pipes{};
  ASSERT_EQ(pipe(pipes.data()), 0);
  const int regular = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  if (regular >= 0) {
    ASSERT_EQ(ftruncate(regular, kRingBytes), 0);
  }
  for (const int file : {-1, pipes[0], pipes[1], regular, open("/dev/zero", O_RDWR), open("/tmp", O_RDONLY),
                         memory_file(kRingBytes - 1, kSeals), memory_file(kRingBytes + 1, kSeals),
                         memory_file(0, kSeals), memory_file(kRingBytes, F_SEAL_GROW)}) {
    rings.add(100, Descriptor(file));
    EXPECT_EQ(rings.take(100).size(), 0) << file;
    if (file >= 0) {
      EXPECT_EQ(fcntl(file, F_GETFD), -1) << "is still open";
    }
  }
}

}  // namespace
}  // namespace eroica::testing
