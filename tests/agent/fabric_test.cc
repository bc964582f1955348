#include "agent/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace eroica::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string datagram(const std::string& type, const std::string& payload, uint64_t size) {
  std::string padded = type;
  padded.resize(32, '\0');
  return bytes_of(size) + padded + payload;
}

std::string request(int32_t types, int32_t count, const std::vector<int32_t>& pids) {
  std::string payload = bytes_of(types) + bytes_of(count) + bytes_of(int64_t{77});
  for (const int32_t pid : pids) payload += bytes_of(pid);
  return datagram("req", payload, payload.size());
}

TEST(Fabric, ReadsWhatAClientAsks) {
  const auto read = decode_fabric(request(3, 2, {100, 50}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, FabricRequest::Kind::kConfiguration);
  EXPECT_EQ(read->types, 3);
  EXPECT_EQ(read->job, 77);
  EXPECT_THAT(read->pids, ElementsAre(100, 50));
}

TEST(Fabric, ReadsWhatAnOlderClientRegisters) {
  const std::string payload = bytes_of(int32_t{0}) + bytes_of(int32_t{100}) + bytes_of(int64_t{7});
  const auto read = decode_fabric(datagram("ctxt", payload, payload.size()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, FabricRequest::Kind::kContext);
  EXPECT_THAT(read->pids, ElementsAre(100));
}

TEST(Fabric, TrustsNoCountAndNoSize) {
  EXPECT_FALSE(decode_fabric(""));
  EXPECT_FALSE(decode_fabric(std::string(39, 'x')));
  EXPECT_FALSE(decode_fabric(request(3, 3, {100, 50})));
  EXPECT_FALSE(decode_fabric(request(3, -1, {100})));
  EXPECT_FALSE(decode_fabric(request(3, 0x7fffffff, {100})));
  EXPECT_FALSE(decode_fabric(datagram("req", std::string(16, '\0'), 17)));
  EXPECT_FALSE(decode_fabric(datagram("req", std::string(16, '\0'), ~uint64_t{0})));
  EXPECT_FALSE(decode_fabric(datagram("req", std::string(15, '\0'), 15)));
  EXPECT_FALSE(decode_fabric(datagram("ctxt", std::string(15, '\0'), 15)));
  EXPECT_FALSE(decode_fabric(datagram(std::string(32, 'r'), std::string(16, '\0'), 16)));
}

TEST(Fabric, AnswersInTheFormOfARequest) {
  const std::string answer = encode_configuration("KEY=1\n");
  ASSERT_EQ(answer.size(), 46);
  EXPECT_EQ(answer.substr(0, 8), bytes_of(uint64_t{6}));
  EXPECT_STREQ(answer.substr(8, 32).c_str(), "req");
  EXPECT_EQ(answer.substr(40), "KEY=1\n");
  EXPECT_EQ(encode_configuration("").size(), 40);
  EXPECT_EQ(encode_instance_count(1).substr(40), bytes_of(int32_t{1}));
}

TEST(Fabric, ConfiguresAWindow) {
  KinetoWindow window;
  window.path = "/tmp/w/rank3.json";
  window.start_unix_ms = 1'700'000'000'123;
  window.duration_ms = 3000;
  const std::string text = configuration_text(window);
  EXPECT_THAT(text, HasSubstr("ACTIVITIES_LOG_FILE=/tmp/w/rank3.json\n"));
  EXPECT_THAT(text, HasSubstr("PROFILE_START_TIME=1700000000123\n"));
  EXPECT_THAT(text, HasSubstr("ACTIVITIES_DURATION_MSECS=3000\n"));
  EXPECT_THAT(text, HasSubstr("PROFILE_WITH_STACK=true\n"));
  window.path = "/tmp/a=b/rank3.json";  // would end the client's parsing
  EXPECT_THAT(configuration_text(window), IsEmpty());
}

}  // namespace
}  // namespace eroica::testing
