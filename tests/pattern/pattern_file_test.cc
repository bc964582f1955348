#include "pattern/pattern_file.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "pattern/wire.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string encoded_rank(int32_t rank) {
  RankPattern pattern;
  pattern.rank = rank;
  pattern.host = "node" + std::to_string(rank);
  return encode_pattern(pattern);
}

NameTable one_name(uint64_t hash, const std::string& text) {
  return {{hash, {text, "", "", FunctionKind::kPython, {}}}};
}

std::string file_of(std::vector<int32_t> ranks) {
  std::vector<std::string> patterns;
  for (int32_t rank : ranks) {
    patterns.push_back(encoded_rank(rank));
  }
  return pattern_file(patterns, {});
}

std::vector<int32_t> ranks_of(const PatternFile& file) {
  std::vector<int32_t> ranks;
  for (const RankPattern& pattern : file.patterns) {
    ranks.push_back(pattern.rank);
  }
  return ranks;
}

TEST(PatternFile, HoldsPatternsAndNames) {
  const std::vector<std::string> patterns{encoded_rank(4), encoded_rank(5)};
  const std::vector<std::string> names{encode_names(one_name(7, "f"))};
  const std::string bytes = pattern_file(patterns, names);
  EXPECT_TRUE(is_pattern_file(bytes));
  const Result<PatternFile> file = read_pattern_file(bytes, "host.eroica");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(ranks_of(*file), ElementsAre(4, 5));
  EXPECT_EQ(file->names, one_name(7, "f"));
  EXPECT_THAT(file->problems, IsEmpty());
}

TEST(PatternFile, FilesJoinedWithCatAreOnePack) {
  const std::string names = pattern_file({}, std::vector<std::string>{encode_names(one_name(7, "f"))});
  const std::string more_names = pattern_file({}, std::vector<std::string>{encode_names(one_name(7, "e"))});
  const Result<PatternFile> pack = read_pattern_file(file_of({0}) + names + file_of({1, 2}) + more_names, "pack");
  ASSERT_TRUE(pack.ok());
  EXPECT_THAT(ranks_of(*pack), ElementsAre(0, 1, 2));
  EXPECT_EQ(pack->names, one_name(7, "e")) << "the lexicographically smaller words";
  EXPECT_THAT(pack->problems, ElementsAre(HasSubstr("1 names have the hash of another")));
}

TEST(PatternFile, OtherFilesAreNone) {
  for (const char* bytes : {"", "E", "{\"traceEvents\":[]}", "EROICAP2"}) {
    const Result<PatternFile> file = read_pattern_file(bytes, "some/file");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().kind, Error::Kind::kNotATrace);
    EXPECT_THAT(file.error().message, HasSubstr("some/file"));
  }
}

TEST(PatternFile, ACutFileKeepsWhatCameBefore) {
  const std::string first = file_of({0});
  const std::string bytes = first + file_of({1});
  for (size_t size = 8; size < bytes.size(); ++size) {
    const Result<PatternFile> file = read_pattern_file(std::string_view(bytes).substr(0, size), "a.eroica");
    if (size < first.size()) {
      ASSERT_FALSE(file.ok());
      EXPECT_THAT(file.error().message, HasSubstr("a.eroica: at byte 0: the file ends within a record"));
    } else {
      ASSERT_TRUE(file.ok());
      EXPECT_THAT(ranks_of(*file), ElementsAre(0));
      EXPECT_EQ(file->problems.size(), size > first.size() ? 1u : 0u);
      if (size > first.size()) {
        EXPECT_THAT(file->problems[0],
                    HasSubstr("a.eroica: at byte " + std::to_string(first.size()) + ": the file ends"));
      }
    }
  }
}

TEST(PatternFile, ADamagedRecordIsPassedOver) {
  const std::string first = file_of({0});
  const std::string second = file_of({1});
  const std::string bytes = first + second + file_of({2});
  for (size_t at = first.size(); at < first.size() + second.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Result<PatternFile> file = read_pattern_file(damaged, "a.eroica");
    ASSERT_TRUE(file.ok());
    EXPECT_THAT(ranks_of(*file), ElementsAre(0, 2)) << "damage at " << at;
    ASSERT_EQ(file->problems.size(), 1u);
    EXPECT_THAT(file->problems[0], HasSubstr("at byte " + std::to_string(first.size()) + ":"));
  }
}

TEST(PatternFile, UnknownRecordsAndForeignBytesAreToldAndPassedOver) {
  const std::string unknown = frame_record(static_cast<RecordType>(9), "from the future");
  const Result<PatternFile> file =
      read_pattern_file(file_of({0}) + unknown + file_of({1}) + "junk" + file_of({2}), "a");
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(ranks_of(*file), ElementsAre(0, 1, 2));
  EXPECT_THAT(file->problems, ElementsAre(HasSubstr("unknown type 9"), HasSubstr("bytes that belong to no record")));
  const std::string no_pattern = frame_record(RecordType::kPattern, "not zstd");
  const Result<PatternFile> other = read_pattern_file(file_of({0}) + no_pattern, "a");
  EXPECT_THAT(other->problems, ElementsAre(HasSubstr("damaged, or no pattern")));
}

TEST(PatternFile, ProblemsAreBounded) {
  std::string bytes = file_of({0});
  for (int i = 0; i < 1000; ++i) {
    bytes += frame_record(RecordType::kPattern, "x");
  }
  const Result<PatternFile> file = read_pattern_file(bytes, "a");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->problems.size(), 101u);
  EXPECT_THAT(file->problems.back(), HasSubstr("more problems"));
}

TEST(PatternFile, MadeUpLengthsCannotMakeItReadForever) {
  // Each header asks for 32 MB of what follows.
  std::string bytes = file_of({0});
  while (bytes.size() < (size_t{34} << 20)) {
    bytes += std::string("EROICAP1\x02\x00\x00\x00\x02", 13);
  }
  const Result<PatternFile> file = read_pattern_file(bytes, "a");
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(ranks_of(*file), ElementsAre(0));
}

/// Gives out memory in blocks of at most `most` bytes.
class Blocks : public ByteSource {
 public:
  Blocks(std::string bytes, size_t most) : bytes_(std::move(bytes)), most_(most) {}
  Result<size_t> read(std::span<char> into) override {
    const size_t size = std::min({into.size(), most_, bytes_.size() - at_});
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), size, into.begin());
    at_ += size;
    return size;
  }

 private:
  std::string bytes_;
  size_t most_;
  size_t at_ = 0;
};

RC_GTEST_PROP(PatternFileReader, ReadsTheSameInBlocksOfAnySize, ()) {
  std::string bytes = file_of({0, 1}) + frame_record(RecordType::kNames, encode_names(one_name(1, "f"))) + "EROIC" +
                      file_of({2}) + "EROICAP1" + file_of({3}) + file_of({4});
  for (int flips = *rc::gen::inRange(0, 3); flips > 0; --flips) {
    bytes[*rc::gen::inRange<size_t>(8, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  bytes.resize(*rc::gen::inRange<size_t>(8, bytes.size() + 1));
  RecordScanner whole("a");
  whole.push(bytes);
  whole.finish();
  PatternFileReader reader(std::make_unique<Blocks>(bytes, *rc::gen::inRange<size_t>(1, 200)), "a");
  while (true) {
    const std::optional<EncodedRecord> expected = whole.next_encoded();
    const Result<std::optional<EncodedRecord>> read = reader.next();
    RC_ASSERT(read.ok());
    RC_ASSERT(read->has_value() == expected.has_value());
    if (!expected) {
      break;
    }
    RC_ASSERT((*read)->type == expected->type);
    RC_ASSERT((*read)->payload == expected->payload);
    RC_ASSERT((*read)->checksum == expected->checksum);
  }
  RC_ASSERT(reader.problems() == whole.problems());
}

class Failing : public ByteSource {
 public:
  Result<size_t> read(std::span<char>) override { return Error{Error::Kind::kUnreadable, "a: I/O error"}; }
};

TEST(PatternFileReader, HandsOnTheErrorsOfItsSource) {
  PatternFileReader reader(std::make_unique<Failing>(), "a");
  EXPECT_EQ(reader.next().error().message, "a: I/O error");
}

}  // namespace
}  // namespace eroica
