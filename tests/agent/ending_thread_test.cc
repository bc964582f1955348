#include "agent/ending_thread.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace eroica {
namespace {

TEST(EndingThread, ABodyThatThrowsIsOverAndTellsWhy) {
  EndingThread thread([] { throw std::runtime_error("no room"); });
  thread.end();
  EXPECT_TRUE(thread.ended());
  EXPECT_EQ(thread.failure(), "no room");
}

class Waiter {
 public:
  ~Waiter() { thread_.end(); }
  bool was_told() {
    thread_.end();
    return was_told_ && thread_.ended() && thread_.failure().empty();
  }

 private:
  bool was_told_ = false;
  EndingThread thread_{[this] { was_told_ = !thread_.wait(int64_t{3'600'000'000'000}); }};
};

TEST(EndingThread, WaitsUntilItIsTold) { EXPECT_TRUE(Waiter().was_told()); }

}  // namespace
}  // namespace eroica
