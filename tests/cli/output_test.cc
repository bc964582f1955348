#include "cli/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;

class Output : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "outputXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

TEST_F(Output, WritesAndReplacesAndLeavesNothingBeside) {
  ASSERT_TRUE(write_file(path("a"), "first").ok());
  ASSERT_TRUE(write_file(path("a"), std::string(1 << 20, 'x')).ok());
  EXPECT_EQ(content(path("a")), std::string(1 << 20, 'x'));
  EXPECT_EQ(files(), 1u);
}

TEST_F(Output, FullDeviceIsAnErrorThatSaysSo) {
  const Status status = write_file("/dev/full", "bytes");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, Error::Kind::kWrite);
  EXPECT_THAT(status.error().message, HasSubstr("No space left"));
  struct stat device {};
  ASSERT_EQ(::stat("/dev/full", &device), 0);
  EXPECT_TRUE(S_ISCHR(device.st_mode));
}

TEST_F(Output, FoldersAndMissingFoldersAreErrors) {
  EXPECT_FALSE(write_file(folder_.string(), "x").ok());
  EXPECT_FALSE(check_writable(folder_.string()).ok());
  EXPECT_FALSE(write_file(path("no/where"), "x").ok());
  EXPECT_FALSE(check_writable(path("no/where")).ok());
  EXPECT_TRUE(check_writable(path("new")).ok());
  EXPECT_EQ(files(), 0u);
}

TEST_F(Output, SameFileIsSeenThroughLinks) {
  ASSERT_TRUE(write_file(path("real"), "x").ok());
  std::filesystem::create_symlink(path("real"), path("soft"));
  std::filesystem::create_hard_link(path("real"), path("hard"));
  ASSERT_TRUE(write_file(path("other"), "x").ok());
  EXPECT_EQ(same_file_among(path("soft"), {path("other"), path("real")}), path("real"));
  EXPECT_EQ(same_file_among(path("hard"), {path("real")}), path("real"));
  EXPECT_EQ(same_file_among(path("other"), {path("real")}), "");
  EXPECT_EQ(same_file_among(path("new"), {path("real")}), "");
}

}  // namespace
}  // namespace eroica
