#include "cli/kept_windows.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace eroica {
namespace {

namespace fs = std::filesystem;

class KeptWindowsTest : public ::testing::Test {
 protected:
  KeptWindowsTest() {
    std::string name = (fs::temp_directory_path() / "eroica-kept-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    policy_.most_gb = 1e-4;  // 100 kB
    policy_.leave_free_gb = 0;
  }
  ~KeptWindowsTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string bundle(size_t bytes) const {
    const fs::path path = folder_ / "bundle";
    fs::create_directories(path);
    std::ofstream(path / "trace") << std::string(bytes, 'x');
    return path.string();
  }

  [[nodiscard]] size_t kept() const {
    const auto folder = fs::directory_iterator(folder_ / "kept");
    return static_cast<size_t>(std::distance(begin(folder), end(folder)));
  }

  fs::path folder_;
  KeepPolicy policy_;
};

TEST_F(KeptWindowsTest, OneThatIsTooLargeLeavesTheOthers) {
  KeptWindows windows((folder_ / "kept").string(), policy_);
  const auto now_ns = int64_t{1'790'000'000} * 1'000'000'000;
  ASSERT_TRUE(windows.keep(bundle(30'000), "window-1", now_ns));
  ASSERT_TRUE(windows.keep(bundle(30'000), "window-2", now_ns));
  EXPECT_FALSE(windows.keep(bundle(200'000), "window-3", now_ns));
  EXPECT_EQ(kept(), 2U);
  EXPECT_TRUE(windows.keep(bundle(60'000), "window-4", now_ns));
  EXPECT_EQ(kept(), 2U);
}

TEST_F(KeptWindowsTest, WindowsOfOneSecondStandBesideEachOther) {
  KeptWindows windows((folder_ / "kept").string(), policy_);
  const auto now_ns = int64_t{1'790'000'000} * 1'000'000'000;
  for (int job = 0; job < 3; ++job) ASSERT_TRUE(windows.keep(bundle(1'000), "window-1", now_ns));
  EXPECT_EQ(kept(), 3U);
}

TEST_F(KeptWindowsTest, WhatAnotherHostIsCopyingStays) {
  fs::create_directories(folder_ / "kept" / ".eroica-part-another-host-1-20261130T142230Z-window-1");
  KeptWindows windows((folder_ / "kept").string(), policy_);
  ASSERT_TRUE(windows.keep(bundle(1'000), "window-1", int64_t{1'790'000'000} * 1'000'000'000));
  EXPECT_EQ(kept(), 2U);
}

TEST_F(KeptWindowsTest, OneForWhichThereIsNoRoomLeavesTheOthers) {
  const auto now_ns = int64_t{1'790'000'000} * 1'000'000'000;
  ASSERT_TRUE(KeptWindows((folder_ / "kept").string(), policy_).keep(bundle(30'000), "window-1", now_ns));
  policy_.leave_free_gb = 1e9;  // more than any disk has
  EXPECT_FALSE(KeptWindows((folder_ / "kept").string(), policy_).keep(bundle(30'000), "window-2", now_ns));
  EXPECT_EQ(kept(), 1U);
}

}  // namespace
}  // namespace eroica
