// What the plugin's recorder does when two threads tell of one event at once.

#include "../../nccl/recorder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

namespace eroica::testing {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr uint64_t kFirstHandle = uint64_t{1} << 16U;  // its generation is 1

nccl::Recorder* recorder = nullptr;
void* page = nullptr;

/// Comes while the recorder reads the event's name, and so holds its slot: as a thread that was displaced there.
void tell_meanwhile(int /*signal*/) {
  recorder->stop(std::bit_cast<void*>(kFirstHandle));
  mprotect(page, kPageBytes, PROT_READ | PROT_WRITE);
}

TEST(NcclRecorder, AnEventThatAnotherThreadHoldsIsCountedAsLost) {
  std::vector<uint64_t> ring(nccl::kRingBytes / sizeof(uint64_t) + 1);
  const auto one = std::make_unique<nccl::Recorder>();
  one->use(ring.data(), 0, 1);
  one->begin(0);
  const auto lost = [&] {
    nccl::Header header;
    std::memcpy(static_cast<void*>(&header), ring.data(), sizeof header);
    return header.lost;
  };
  recorder = one.get();
  page = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = tell_meanwhile;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  void* handle = one->start(nullptr, {.kind = nccl::Kind::kCollective, .function = static_cast<const char*>(page)});
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(handle, std::bit_cast<void*>(kFirstHandle));
  EXPECT_EQ(lost(), 1U);
  one->stop(handle);
  one->stop(handle);  // one that comes twice is no loss
  EXPECT_EQ(lost(), 1U);
  munmap(page, kPageBytes);
}

}  // namespace
}  // namespace eroica::testing
