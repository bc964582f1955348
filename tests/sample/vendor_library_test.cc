#include "sample/vendor_library.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace eroica::testing {
namespace {

constexpr int64_t kLong = 60'000'000'000;

TEST(VendorLibrary, MissingOne) {
  const VendorLibrary library({"liberoica-no-such-thing.so.1", "liberoica-nor-this.so"});
  EXPECT_FALSE(library.loaded());
  CallWatch watch;
  const VendorFunction<int(int)> function(library, watch, {"anything"});
  EXPECT_FALSE(function);
  EXPECT_EQ(function.call(-3, 1), -3);
}

TEST(VendorLibrary, FirstNameThatIsThere) {
  const VendorLibrary library({"liberoica-no-such-thing.so.1", "libc.so.6"});
  ASSERT_TRUE(library.loaded());
  CallWatch watch;
  const VendorFunction<int(const char*)> function(library, watch, {"eroica_nothing", "atoi"});
  ASSERT_TRUE(function);
  EXPECT_STREQ(function.name(), "atoi");
  EXPECT_EQ(function.call(-1, "42"), 42);
  EXPECT_EQ(watch.running().function, nullptr);
}

TEST(VendorThread, OneWorkAfterTheOther) {
  VendorThread thread;
  auto sum = std::make_shared<int>(0);
  for (int i = 1; i <= 100; ++i) {
    ASSERT_TRUE(thread.begin([sum, i] { *sum += i; }));
    ASSERT_TRUE(thread.wait_idle(kLong));
    EXPECT_TRUE(thread.idle());
  }
  EXPECT_EQ(*sum, 5050);
}

TEST(VendorThread, WorkThatHangsIsLeftBehind) {
  std::promise<void> gate;
  std::promise<void> ended;
  std::future<void> end = ended.get_future();
  auto held = std::make_shared<int>(7);
  const std::weak_ptr<int> observer = held;
  {
    VendorThread thread;
    ASSERT_TRUE(thread.begin([held = std::move(held), open = gate.get_future().share(), &ended] {
      open.wait();
      EXPECT_EQ(*held, 7);
      ended.set_value();
    }));
    EXPECT_FALSE(thread.begin([] {}));
    EXPECT_FALSE(thread.idle());
    EXPECT_FALSE(thread.wait_idle(1'000'000));
  }  // does not wait
  EXPECT_FALSE(observer.expired());
  gate.set_value();
  end.wait();
}

}  // namespace
}  // namespace eroica::testing
