#include "trace/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace eroica {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// zlib, as the oracle of our gzip reader.
std::string gzip(std::string_view text, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text, int level = 3) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), level));
  return out;
}

struct Everything {
  std::string text;
  StreamEnd end;
  uint64_t consumed = 0;
};

Everything decompress_all(const std::string& bytes, size_t max_read = SIZE_MAX, size_t buffer_bytes = 1 << 16) {
  const std::unique_ptr<DecompressedSource> source = decompress(memory_source(bytes, max_read));
  Everything all;
  std::vector<char> buffer(buffer_bytes);
  while (true) {
    const Result<size_t> got = source->read(buffer);
    if (!got.ok() || *got == 0) break;
    all.text.append(buffer.data(), *got);
  }
  all.end = source->end();
  all.consumed = source->consumed_bytes();
  return all;
}

/// Text of random length that compresses more or less.
std::string some_text(std::mt19937& random) {
  std::string text(random() % 300000, '\0');
  const auto variety = 1 + random() % 200;
  for (char& c : text) c = static_cast<char>(random() % 7 == 0 ? random() % variety : 'a');
  return text;
}

RC_GTEST_PROP(Decompress, GivesBackWhatWasCompressed, (uint32_t seed)) {
  std::mt19937 random(seed);
  std::string text;
  std::string bytes;
  const bool use_gzip = random() % 2 == 0;
  for (size_t part = 1 + random() % 3; part > 0; --part) {
    const std::string piece = some_text(random);
    text += piece;
    bytes += use_gzip ? gzip(piece, static_cast<int>(random() % 10)) : zstd(piece, 1 + static_cast<int>(random() % 5));
  }
  const Everything all = decompress_all(bytes, 1 + random() % 100000, 1 + random() % 100000);
  RC_ASSERT(all.text == text);
  RC_ASSERT(!all.end.truncated);
  RC_ASSERT(!all.end.damaged);
  RC_ASSERT(all.consumed == bytes.size());
}

RC_GTEST_PROP(Decompress, ToldOfATruncatedStreamGivesWhatCameBefore, (uint32_t seed)) {
  std::mt19937 random(seed);
  const std::string text = some_text(random) + "x";
  const std::string bytes = random() % 2 == 0 ? gzip(text) : zstd(text);
  const Everything all = decompress_all(bytes.substr(0, 5 + random() % (bytes.size() - 5)), 1 + random() % 5000);
  RC_ASSERT(all.end.truncated);
  RC_ASSERT(!all.end.damaged);
  RC_ASSERT(!all.end.what.empty());
  RC_ASSERT(text.starts_with(all.text));
}

RC_GTEST_PROP(Decompress, NeverTrustsDamagedBytes, (uint32_t seed)) {
  std::mt19937 random(seed);
  const std::string text = some_text(random) + "x";
  std::string bytes = random() % 2 == 0 ? gzip(text) : zstd(text);
  for (int i = 0; i < 3; ++i) bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
  decompress_all(bytes);  // any outcome but a crash or a hang
}

TEST(Decompress, PlainBytesPassThrough) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("\x1f"), std::string(100000, 'p')}) {
    EXPECT_EQ(decompress_all(text, 3).text, text);
  }
}

TEST(Decompress, AWrongChecksumIsDamage) {
  std::string bytes = gzip("some text");
  bytes[bytes.size() - 6] = static_cast<char>(bytes[bytes.size() - 6] + 1);
  const Everything all = decompress_all(bytes);
  EXPECT_EQ(all.text, "some text");
  EXPECT_TRUE(all.end.damaged);
  EXPECT_THAT(all.end.what, HasSubstr("checksum at compressed byte"));
}

TEST(Decompress, PaddingAfterTheLastMemberIsIgnored) {
  const Everything all = decompress_all(gzip("a") + std::string(512, '\0'));
  EXPECT_EQ(all.text, "a");
  EXPECT_FALSE(all.end.damaged);
  EXPECT_FALSE(all.end.truncated);
}

class OpenFile : public ::testing::Test {
 public:
  OpenFile() {
    std::string pattern = (fs::temp_directory_path() / "eroica-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~OpenFile() override { fs::remove_all(folder_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

 protected:
  [[nodiscard]] Error error_of(const std::string& name) const {
    const Result<std::unique_ptr<ByteSource>> file = open_file((folder_ / name).string());
    return file.ok() ? Error{Error::Kind::kInvalid, "opened"} : file.error();
  }

  fs::path folder_;
};

TEST_F(OpenFile, ReadsAFileAndFollowsLinks) {
  std::ofstream(folder_ / "file") << "content";
  fs::create_symlink("file", folder_ / "link");
  for (const char* name : {"file", "link"}) {
    Result<std::unique_ptr<ByteSource>> file = open_file((folder_ / name).string());
    ASSERT_TRUE(file.ok());
    std::array<char, 16> buffer{};
    const Result<size_t> got = (*file)->read(buffer);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(std::string(buffer.data(), *got), "content");
    EXPECT_EQ((*file)->read(buffer).value(), 0U);
  }
}

TEST_F(OpenFile, SaysWhatCannotBeRead) {
  EXPECT_EQ(error_of("missing").kind, Error::Kind::kNotFound);
  EXPECT_THAT(error_of("missing").message, HasSubstr("missing: there is no such file"));

  fs::create_directory(folder_ / "folder");
  EXPECT_EQ(error_of("folder").kind, Error::Kind::kUnreadable);
  EXPECT_THAT(error_of("folder").message, HasSubstr("is a directory"));

  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of("pipe").message, HasSubstr("is a pipe"));

  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_THAT(error_of("a").message, HasSubstr("loop"));
}

TEST(OpenDevice, IsAnError) {
  const Result<std::unique_ptr<ByteSource>> file = open_file("/dev/null");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.error().message, HasSubstr("is a device"));
}

}  // namespace
}  // namespace eroica
