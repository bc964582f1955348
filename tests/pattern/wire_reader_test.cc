#include "pattern/wire_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "proto/pattern.pb.h"

namespace eroica {
namespace {

TEST(WireReader, EndsAtTheEnd) {
  WireReader in("");
  EXPECT_FALSE(in.next());
  EXPECT_FALSE(in.damaged());
}

// The library writes, we read.
RC_GTEST_PROP(WireReader, ReadsWhatProtobufWrites, ()) {
  wire::Pattern pattern;
  const auto numbers = *rc::gen::arbitrary<std::vector<uint64_t>>();
  const auto hashes = *rc::gen::arbitrary<std::vector<uint64_t>>();
  const auto works = *rc::gen::arbitrary<std::vector<float>>();
  const auto deltas = *rc::gen::arbitrary<std::vector<int64_t>>();
  const auto host = *rc::gen::arbitrary<std::string>();
  const auto start = *rc::gen::arbitrary<int64_t>();
  const auto rank = *rc::gen::arbitrary<uint32_t>();
  const auto shape = *rc::gen::arbitrary<uint32_t>();
  pattern.mutable_budget_ns()->Assign(numbers.begin(), numbers.end());
  pattern.mutable_name_hashes()->Assign(hashes.begin(), hashes.end());
  pattern.mutable_steps()->mutable_work()->Assign(works.begin(), works.end());
  pattern.mutable_steps()->mutable_start_delta_ns()->Assign(deltas.begin(), deltas.end());
  pattern.set_host(host);
  pattern.set_window_start_unix_ns(start);
  pattern.set_rank(rank);
  pattern.add_functions()->set_shape(shape);
  const std::string bytes = pattern.SerializeAsString();

  std::vector<uint64_t> read_numbers;
  std::vector<uint64_t> read_hashes;
  std::vector<float> read_works;
  std::vector<uint64_t> read_deltas;
  std::string read_host;
  int64_t read_start = 0;
  uint32_t read_rank = 0;
  uint32_t read_shape = 0;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 2: read_rank = in.varint32(); break;
      case 5: read_host = in.bytes(); break;
      case 10: read_start = in.zigzag(); break;
      case 14: {
        WireReader steps(in.bytes());
        while (steps.next()) {
          if (steps.field() == 2) steps.append_varints(read_deltas);
          if (steps.field() == 7) steps.append_reals(read_works);
        }
        RC_ASSERT(!steps.damaged());
        break;
      }
      case 15: in.append_varints(read_numbers); break;
      case 16: in.append_fixed64(read_hashes); break;
      case 18: {
        WireReader function(in.bytes());
        while (function.next()) {
          if (function.field() == 14) read_shape = function.fixed32();
        }
        break;
      }
      default: RC_FAIL("a field that nobody wrote");
    }
  }
  RC_ASSERT(!in.damaged());
  RC_ASSERT(read_numbers == numbers);
  RC_ASSERT(read_hashes == hashes);
  RC_ASSERT(read_works == works);
  RC_ASSERT(read_host == host);
  RC_ASSERT(read_start == start);
  RC_ASSERT(read_rank == rank);
  RC_ASSERT(read_shape == shape);
  RC_ASSERT(read_deltas.size() == deltas.size());
  for (size_t i = 0; i < deltas.size(); ++i) RC_ASSERT(WireReader::unzigzag(read_deltas[i]) == deltas[i]);
}

// Numbers of all lengths, as near to the end as they can be, are the same to it.
TEST(WireReader, ReadsNumbersOfAllLengthsAtAnyDistanceFromTheEnd) {
  for (int bits = 1; bits <= 64; ++bits) {
    const uint64_t number = std::numeric_limits<uint64_t>::max() >> (64 - bits);
    for (size_t behind = 0; behind < 12; ++behind) {
      wire::Pattern pattern;
      pattern.set_window_ns(number);
      pattern.set_step_note(std::string(behind, 'x'));
      pattern.add_budget_ns(number);
      const std::string bytes = pattern.SerializeAsString();
      std::vector<uint64_t> numbers;
      WireReader in(bytes);
      while (in.next()) {
        if (in.field() == 11) numbers.push_back(in.varint());
        if (in.field() == 15) in.append_varints(numbers);
      }
      EXPECT_FALSE(in.damaged());
      EXPECT_EQ(numbers, (std::vector<uint64_t>{number, number})) << bits << " bits, " << behind << " behind";
    }
  }
}

TEST(WireReader, ReadsRepeatedFieldsThatAreNotPacked) {
  const std::string bytes("\x78\x05\x7a\x02\x06\x07\x78\x08", 8);  // field 15: 5; packed 6, 7; 8
  std::vector<uint64_t> column;
  WireReader in(bytes);
  while (in.next()) in.append_varints(column);
  EXPECT_FALSE(in.damaged());
  EXPECT_EQ(column, (std::vector<uint64_t>{5, 6, 7, 8}));
}

TEST(WireReader, WhatIsNoMessageIsDamaged) {
  const std::vector<std::string> damaged = {
      std::string("\x00\x01", 2),                                           // there is no field 0
      "\x08",                                                               // a number that is not there
      std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12),  // one of more than 64 bits
      "\x0a\x05"
      "abc",                               // longer than what is left
      "\x0d\x01\x02\x03",                  // three bytes of four
      "\x09\x01\x02\x03\x04\x05\x06\x07",  // seven of eight
      "\x0b",                              // a group
      "\x0f\x01",                          // a type that there is not
  };
  for (const std::string& bytes : damaged) {
    WireReader in(bytes);
    while (in.next()) {
    }
    EXPECT_TRUE(in.damaged()) << testing::PrintToString(bytes);
    EXPECT_FALSE(in.next());
  }
}

TEST(WireReader, AFieldOfAnotherTypeIsDamage) {
  WireReader in("\x0a\x01x");
  ASSERT_TRUE(in.next());
  EXPECT_EQ(in.varint(), 0u);
  EXPECT_TRUE(in.damaged());
  EXPECT_FALSE(in.next());
}

TEST(WireReader, APackedFieldThatIsCutIsDamage) {
  for (const char* bytes : {"\x7a\x02\x06\xff", "\x82\x01\x02\x06\x07"}) {
    std::vector<uint64_t> column;
    WireReader in(bytes);
    ASSERT_TRUE(in.next());
    in.field() == 15 ? in.append_varints(column) : in.append_fixed64(column);
    EXPECT_TRUE(in.damaged());
  }
}

}  // namespace
}  // namespace eroica
