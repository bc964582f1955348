#include "web/courier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "web/secret.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;
constexpr const char* kHook = "http://hook:81/in?a=b";
constexpr const char* kOther = "http://other:82/";

/// Webhooks that answer as they are told, and the service that tells them.
class CourierTest : public ::testing::Test {
 protected:
  CourierTest() {
    std::string folder = (fs::temp_directory_path() / "eroica-courier-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    start();
  }
  ~CourierTest() override { fs::remove_all(folder_); }

  void start() {
    courier_.reset();
    service_.reset();
    ServiceOptions options;
    options.webhooks = {kHook, kOther};
    service_ =
        Service::make(
            Store::open(folder_ + "/a.db").value(), options, [this] { return now_ns_; }, [](const ServiceEvent&) {})
            .value();
    CourierOptions how;
    how.secret = "key";
    how.alertmanager = "http://alerts:9093/am";
    courier_ = std::make_unique<Courier>(
        *service_, how,
        [this](const ServerUrl& server, const HttpCall& call) -> Result<HttpAnswer> {
          calls_.emplace_back(server.host, call);
          if (broken_ == server.host) throw std::runtime_error("no descriptor is left");
          if (down_ == server.host) return Error{Error::Kind::kUnreadable, "down"};
          return HttpAnswer{204, ""};
        },
        [this](const std::string& text) { said_.push_back(text); });
  }
  void tell(int64_t number, decltype(Observation::what) what) {
    ASSERT_TRUE(service_->take("t", {"s", {{number, now_ns_, "job7", "h1", std::move(what)}}}).ok());
  }
  static StatusTold status(JobState state) {
    StatusTold told;
    told.status.job = "job7";
    told.status.state = state;
    told.status.ranks = 8;
    return told;
  }
  void trouble() {
    tell(1, status(JobState::kHealthy));
    tell(2, TroubleTold{TroubleKind::kSlow, 0, 5, 200, 100});
  }
  std::vector<HttpCall> to(const std::string& host) const {
    std::vector<HttpCall> calls;
    for (const auto& [name, call] : calls_) {
      if (name == host) calls.push_back(call);
    }
    return calls;
  }

  std::string folder_;
  int64_t now_ns_ = int64_t{1'800'000'000} * kSecond;
  std::string down_;
  std::string broken_;
  std::vector<std::pair<std::string, HttpCall>> calls_;
  std::vector<std::string> said_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Courier> courier_;
};

TEST_F(CourierTest, TellsEachWebhookOnceAndSignsIt) {
  trouble();
  courier_->deliver();
  courier_->deliver();
  ASSERT_EQ(to("hook").size(), 1U);
  const HttpCall call = to("hook")[0];
  EXPECT_EQ(call.target, "/in?a=b");
  const Json body = Json::parse(call.body);
  EXPECT_EQ(body["schema"], "eroica.event/1");
  EXPECT_EQ(body["event"], "opened");
  EXPECT_EQ(body["incident"]["job"], "job7");
  EXPECT_THAT(call.headers,
              ElementsAre(std::pair<std::string, std::string>("Eroica-Delivery", "1"),
                          std::pair<std::string, std::string>("Eroica-Signature",
                                                              webhook_signature("key", now_ns_ / kSecond, call.body))));
  EXPECT_EQ(to("other").size(), 1U);
  EXPECT_EQ(service_->health().deliveries, 0);
}

TEST_F(CourierTest, TriesAgainLaterAndLaterAlsoAfterANewStart) {
  down_ = "hook";
  trouble();
  courier_->deliver();
  EXPECT_EQ(to("other").size(), 1U) << "one that is down holds up no other";
  courier_->deliver();
  EXPECT_EQ(to("hook").size(), 1U) << "not before five seconds have passed";
  now_ns_ += 5 * kSecond;
  courier_->deliver();
  EXPECT_EQ(to("hook").size(), 2U);
  now_ns_ += 5 * kSecond;
  courier_->deliver();
  EXPECT_EQ(to("hook").size(), 2U);
  EXPECT_THAT(said_, ElementsAre("down; tried again"));
  start();
  down_ = "";
  now_ns_ += 5 * kSecond;
  courier_->deliver();
  EXPECT_EQ(to("hook").size(), 3U);
  EXPECT_EQ(to("hook")[2].body, to("hook")[0].body);
  EXPECT_EQ(service_->health().deliveries, 0);
}

TEST_F(CourierTest, ACallThatThrowsIsOneThatFailed) {
  broken_ = "hook";
  trouble();
  courier_->deliver();
  EXPECT_EQ(to("other").size(), 1U);
  EXPECT_THAT(said_, ElementsAre("http://hook:81: no descriptor is left; tried again"));
  broken_ = "";
  now_ns_ += 5 * kSecond;
  courier_->deliver();
  EXPECT_EQ(to("hook").size(), 2U);
  EXPECT_EQ(service_->health().deliveries, 0);
}

TEST_F(CourierTest, GivesUpAfterADay) {
  down_ = "hook";
  trouble();
  for (int i = 0; i < 200; ++i) {
    courier_->deliver();
    now_ns_ += 600 * kSecond;
  }
  EXPECT_EQ(service_->health().deliveries, 0);
}

TEST_F(CourierTest, KeepsAnAlertmanagerToldUntilTheIncidentCloses) {
  courier_->deliver();
  EXPECT_TRUE(to("alerts").empty());
  now_ns_ += 60 * kSecond;
  trouble();
  courier_->deliver();
  courier_->deliver();
  ASSERT_EQ(to("alerts").size(), 1U) << "once a minute";
  EXPECT_EQ(to("alerts")[0].target, "/am/api/v2/alerts");
  const Json first = Json::parse(to("alerts")[0].body);
  EXPECT_EQ(first[0]["labels"]["alertname"], "EroicaIncident");
  EXPECT_EQ(first[0]["startsAt"], "2027-01-15T08:01:00Z");
  EXPECT_EQ(first[0]["endsAt"], "2027-01-15T08:06:00Z");
  tell(3, status(JobState::kEnded));
  now_ns_ += 60 * kSecond;
  courier_->deliver();
  const Json last = Json::parse(to("alerts")[1].body);
  EXPECT_EQ(last[0]["labels"], first[0]["labels"]);
  EXPECT_EQ(last[0]["endsAt"], "2027-01-15T08:01:00Z");
}

TEST(Signature, IsTheOneOfRfc4231) {
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_THAT(webhook_signature("k", 5, "{}"), HasSubstr("t=5,v1="));
}

TEST(TargetUrl, HasAPath) {
  EXPECT_EQ(parse_target_url("http://a:1")->target, "/");
  EXPECT_EQ(parse_target_url("http://a:1/x?y=z")->target, "/x?y=z");
  EXPECT_EQ(parse_target_url("http://[::1]:1/x")->server.host, "::1");
  EXPECT_FALSE(parse_target_url("http://a:1/x y").ok());
  EXPECT_FALSE(parse_target_url("https://a/x").ok());
}

}  // namespace
}  // namespace eroica
