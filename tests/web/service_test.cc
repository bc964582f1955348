#include "web/service.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "web/api.h"
#include "web/http_client.h"
#include "web/http_server.h"
#include "web/secret.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

/// A service on a store of its own, with a clock that stands still unless it is moved, asked through its API.
class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    std::string folder = (fs::temp_directory_path() / "eroica-service-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    start();
  }
  ~ServiceTest() override { fs::remove_all(folder_); }

  /// What stood in memory is gone, as after kill -9.
  void start() {
    api_.reset();
    service_.reset();
    Result<std::unique_ptr<Store>> store = Store::open(folder_ + "/a.db");
    Result<std::unique_ptr<Service>> service = Service::make(
        std::move(*store), {}, [this] { return now_ns_; },
        [this](const ServiceEvent& event) { events_.push_back(event.name + " " + event.data); });
    ASSERT_TRUE(service.ok()) << service.error().message;
    service_ = std::move(*service);
    PolicyTools tools;
    tools.standard = "# standard";
    tools.check = [](const std::string& toml) {
      return toml == "bad" ? std::vector<std::string>{"policy:1: bad"} : std::vector<std::string>();
    };
    tools.replay = [](const std::string&, const std::string& steps) -> Result<std::string> {
      return "{\"got\":" + steps + "}";
    };
    api_ = std::make_unique<Api>(*service_, tools, "127.0.0.1");
  }

  void add_token(const std::string& name, const std::string& role, const std::string& tenant, int64_t ends_ns = 0) {
    auto store = Store::open(folder_ + "/a.db", false).value();
    ASSERT_TRUE(store->add_token({sha256_hex("secret-" + name), name, role, tenant, 1, ends_ns}).ok());
    service_->tick();
  }

  HttpResponse ask(const std::string& method, const std::string& target, const Json& body = {},
                   const std::string& token = "") {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.host = "localhost:7430";
    if (!token.empty()) request.authorization = "Bearer secret-" + token;
    if (!body.is_null()) request.content_type = "application/json";
    size_t most = 0;
    if (std::optional<HttpResponse> refused = api_->admit(request, most)) return *refused;
    if (!body.is_null()) request.body = body.dump();
    if (request.body.size() > most) return {413, "", "", {}, false, ""};
    return api_->answer(request);
  }
  Json get(const std::string& target, const std::string& token = "") {
    return Json::parse(ask("GET", target, {}, token).body);
  }

  Json observation(int64_t number, Json what, const std::string& host = "h1", const std::string& job = "job7") const {
    Json one = {{"number", number}, {"unix_ns", now_ns_}, {"job", job}, {"host", host}};
    one.update(what);
    return one;
  }
  static Json status(const std::string& state, const std::string& job = "job7") {
    return {{"kind", "status"},
            {"status", {{"ok", true}, {"job", job}, {"state", state}, {"ranks", 8}, {"step_ms", 100.0}}}};
  }
  static Json slow() { return {{"kind", "slow"}, {"step", 5}, {"level_ms", 200.0}, {"baseline_ms", 100.0}}; }
  static Json diagnosis(const std::string& cause) {
    return {{"kind", "diagnosis"},
            {"document",
             {{"schema", "eroica.diagnosis/1"},
              {"diagnoses",
               {{{"cause", cause}, {"title", "a <script> in the loader"}, {"confidence", 0.9}, {"ranks", {3}}}}}}}};
  }
  HttpResponse send(const std::vector<Json>& observations, const std::string& token = "",
                    const std::string& sender = "s1") {
    return ask("POST", "/api/v1/observations", {{"sender", sender}, {"observations", observations}}, token);
  }
  void trouble(const std::string& token = "") {
    ASSERT_EQ(
        send({observation(1, status("healthy")), observation(2, slow()), observation(3, diagnosis("data.loader_slow"))},
             token)
            .status,
        200);
  }

  std::string folder_;
  int64_t now_ns_ = int64_t{1'800'000'000} * kSecond;
  std::vector<std::string> events_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Api> api_;
};

TEST_F(ServiceTest, AnIncidentIsToldFromDetectionToFeedback) {
  trouble();
  const Json jobs = get("/api/v1/jobs");
  EXPECT_EQ(jobs["jobs"][0]["state"], "slow");
  EXPECT_EQ(jobs["jobs"][0]["incident"], 1);
  EXPECT_EQ(get("/api/v1/incidents?state=open")["incidents"][0]["cause"], "data.loader_slow");
  now_ns_ += 60 * kSecond;
  const HttpResponse changed = ask("POST", "/api/v1/changes",
                                   {{"what", "more workers"}, {"incident", 1}, {"who", "ada"}, {"url", "https://t/1"}});
  EXPECT_EQ(changed.status, 201);
  EXPECT_EQ(ask("POST", "/api/v1/incidents/1/feedback", {{"verdict", "right"}}).status, 201);
  const Json incident = get("/api/v1/incidents/1");
  EXPECT_EQ(incident["acted_unix_ns"], now_ns_);
  EXPECT_EQ(incident["actions"][0]["who"], "ada");
  EXPECT_EQ(incident["feedback"][0]["verdict"], "right");
  EXPECT_EQ(incident["diagnoses"].size(), 1U);
  const Json document = get("/api/v1/incidents/1/document");
  EXPECT_EQ(document["documents"][0]["diagnoses"][0]["cause"], "data.loader_slow");
  EXPECT_EQ(get("/api/v1/diagnoses/1")["schema"], "eroica.diagnosis/1");
  const Json report = get("/api/v1/report");
  EXPECT_EQ(report["incidents"], 1);
  EXPECT_EQ(report["right"], 1);
  EXPECT_THAT(ask("GET", "/api/v1/report?format=csv").body, HasSubstr("incidents,,1"));
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("eroica_job_incident{tenant=\"\",job=\"job7\"} 1\n"));
}

TEST_F(ServiceTest, WhatWasAcknowledgedOutlivesTheProcess) {
  trouble();
  start();
  EXPECT_EQ(get("/api/v1/incidents/1")["claims"][0]["cause"], "data.loader_slow");
  EXPECT_EQ(get("/api/v1/jobs")["jobs"][0]["incident"], 1);
  // What is sent again is known; what follows belongs to the same incident.
  const Json again = Json::parse(send({observation(2, slow()), observation(3, diagnosis("data.loader_slow")),
                                       observation(4, diagnosis("data.loader_slow"))})
                                     .body);
  EXPECT_EQ(again["acknowledged"], 4);
  EXPECT_EQ(get("/api/v1/incidents/1")["documents_count"], 2);
  EXPECT_EQ(get("/api/v1/incidents")["incidents"].size(), 1U);
}

TEST_F(ServiceTest, ASenderIsNotConfusedWithAnother) {
  trouble();
  EXPECT_EQ(send({observation(1, status("slow"))}, "", "s2").status, 200);
  EXPECT_EQ(Json::parse(send({observation(2, status("slow"))}, "", "s2").body)["acknowledged"], 2);
}

TEST_F(ServiceTest, NothingHappensWhileTheStoreCannotBeWritten) {
  ASSERT_EQ(send({observation(1, status("healthy"))}).status, 200);
  {
    auto other = Database::open(folder_ + "/a.db", 0).value();
    Transaction holding(*other);
    const HttpResponse refused = send({observation(2, slow())});
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, ::testing::Not(HasSubstr(folder_)));
    EXPECT_EQ(get("/healthz")["state"], "degraded");
    EXPECT_TRUE(get("/api/v1/incidents")["incidents"].empty());
    EXPECT_EQ(get("/api/v1/jobs")["jobs"][0]["state"], "healthy");
  }
  EXPECT_EQ(send({observation(2, slow())}).status, 200);
  EXPECT_EQ(get("/healthz")["state"], "ok");
  EXPECT_EQ(get("/api/v1/incidents")["incidents"].size(), 1U);
}

TEST_F(ServiceTest, TokensSayWhoMayDoWhat) {
  add_token("root", "admin", "");
  add_token("see", "viewer", "vision");
  add_token("act", "operator", "vision");
  add_token("host", "agent", "vision");
  add_token("other", "operator", "speech");
  add_token("over", "admin", "", now_ns_ - 1);
  trouble("host");
  EXPECT_EQ(ask("GET", "/api/v1/jobs").status, 401);
  EXPECT_EQ(ask("GET", "/api/v1/jobs", {}, "nobody").status, 401);
  EXPECT_EQ(ask("GET", "/api/v1/jobs", {}, "over").status, 401);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(get("/api/v1/jobs", "see")["jobs"].size(), 1U);
  EXPECT_EQ(ask("POST", "/api/v1/changes", {{"what", "x"}}, "see").status, 403);
  EXPECT_EQ(ask("POST", "/api/v1/changes", {{"what", "x"}}, "act").status, 201);
  EXPECT_EQ(ask("PUT", "/api/v1/policy", {{"toml", "a"}}, "act").status, 403);
  EXPECT_EQ(ask("GET", "/api/v1/jobs", {}, "host").status, 403);
  EXPECT_EQ(ask("GET", "/api/v1/policy", {}, "host").status, 200);
  EXPECT_EQ(send({observation(1, slow())}, "act").status, 403);
  // Another tenant sees nothing, and is not told that there is something.
  EXPECT_TRUE(get("/api/v1/jobs?tenant=vision", "other")["jobs"].empty());
  for (const char* page :
       {"/api/v1/jobs/job7", "/api/v1/incidents/1", "/api/v1/incidents/1/document", "/api/v1/diagnoses/1"}) {
    EXPECT_EQ(ask("GET", page, {}, "other").status, 404) << page;
  }
  EXPECT_EQ(ask("POST", "/api/v1/incidents/1/feedback", {{"verdict", "right"}}, "other").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/changes", {{"what", "x"}, {"incident", 1}}, "other").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/jobs/job7/trigger", Json::object(), "other").status, 404);
  const Json audit = get("/api/v1/audit", "root");
  EXPECT_EQ(audit["audit"][0]["who"], "other");
  EXPECT_EQ(audit["audit"][0]["deed"], "POST /api/v1/jobs/job7/trigger");
}

TEST_F(ServiceTest, WhoRemovesTheLastTokenOpensNothing) {
  EXPECT_EQ(ask("GET", "/api/v1/jobs").status, 200);
  add_token("root", "admin", "");
  const HttpResponse stream = ask("GET", "/api/v1/events", {}, "root");
  ASSERT_TRUE(stream.is_stream);
  EXPECT_TRUE(stream.goes_on());
  ASSERT_TRUE(Store::open(folder_ + "/a.db", false).value()->remove_token("root").value());
  service_->tick();
  EXPECT_FALSE(stream.goes_on());
  EXPECT_EQ(ask("GET", "/api/v1/jobs").status, 401);
  start();
  EXPECT_EQ(ask("GET", "/api/v1/jobs").status, 200);
}

TEST_F(ServiceTest, WithoutTokensNoOtherSitesPageGetsIn) {
  HttpRequest request{"GET", "/api/v1/jobs", "127.0.0.1", "evil.example:7430", "", "", ""};
  size_t most = 0;
  EXPECT_EQ(api_->admit(request, most)->status, 401);
  HttpRequest form{"POST", "/api/v1/changes", "127.0.0.1", "localhost:7430", "", "text/plain", ""};
  EXPECT_EQ(api_->admit(form, most)->status, 415);
}

TEST_F(ServiceTest, AWindowThatIsAskedForGoesToEachHostUntilItSaysWhatCameOfIt) {
  ASSERT_EQ(send({observation(1, status("healthy"))}).status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/jobs/none/trigger", Json::object()).status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/jobs/job7/trigger", {{"window_s", 1e9}}).status, 400);
  ASSERT_EQ(ask("POST", "/api/v1/jobs/job7/trigger", {{"window_s", 2.0}, {"reason", "odd loss"}}).status, 202);
  const Json first = Json::parse(send({observation(2, status("healthy"))}).body);
  ASSERT_EQ(first["orders"].size(), 1U);
  EXPECT_EQ(first["orders"][0]["window_s"], 2.0);
  EXPECT_EQ(Json::parse(send({observation(3, status("healthy"))}).body)["orders"].size(), 1U);
  const Json outcome = {{"kind", "order"}, {"id", first["orders"][0]["id"]}, {"window", "w1"}, {"refused", ""}};
  EXPECT_TRUE(Json::parse(send({observation(4, outcome)}).body)["orders"].empty());
  EXPECT_EQ(get("/api/v1/jobs/job7")["orders"][0]["state"], "taken");
}

TEST_F(ServiceTest, AnOrderAfterANewStartIsNoneThatAHostKnows) {
  ASSERT_EQ(send({observation(1, status("healthy"))}).status, 200);
  const auto order = [&] {
    const Json told = Json::parse(ask("POST", "/api/v1/jobs/job7/trigger", Json::object()).body);
    return told["orders"][0]["id"].get<int64_t>();
  };
  order();
  const int64_t before = order();
  now_ns_ += kSecond;
  start();
  ASSERT_EQ(send({observation(2, status("healthy"))}).status, 200);
  EXPECT_GT(order(), before);
}

TEST_F(ServiceTest, APolicyIsCheckedBeforeItIsKept) {
  EXPECT_EQ(get("/api/v1/policy")["toml"], "# standard");
  EXPECT_EQ(ask("PUT", "/api/v1/policy", {{"toml", "bad"}}).status, 422);
  EXPECT_EQ(ask("PUT", "/api/v1/policy", {{"toml", "good"}}).status, 200);
  start();
  EXPECT_EQ(get("/api/v1/policy")["toml"], "good");
  EXPECT_EQ(Json::parse(ask("POST", "/api/v1/policy/check", {{"toml", "bad"}}).body)["problems"].size(), 1U);
  EXPECT_EQ(ask("POST", "/api/v1/policy/replay", {{"toml", "a"}, {"steps", {1, 2}}}).body, "{\"got\":[1,2]}");
}

TEST_F(ServiceTest, EventsAreToldAsTheyHappen) {
  trouble();
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("\"event\":\"opened\"")));
  EXPECT_THAT(events_, ::testing::Contains(HasSubstr("\"event\":\"diagnosed\"")));
}

TEST_F(ServiceTest, TheApiIsTheOneThatIsWrittenDown) {
  std::ifstream file(EROICA_SOURCE_DIR "/docs/openapi.json");
  const Json document = Json::parse(file);
  std::set<std::pair<std::string, std::string>> written;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      if (upper != "PARAMETERS") written.emplace(upper, path);
    }
  }
  std::set<std::pair<std::string, std::string>> served;
  for (const auto& [method, path] : Api::routes()) served.emplace(method, path);
  EXPECT_EQ(written, served);
}

// -- the server itself

class HttpTest : public ::testing::Test {
 protected:
  void serve(HttpServerOptions options, HttpServer::Answer answer) {
    server_ = HttpServer::make(
                  options,
                  [](const HttpRequest& head, size_t& most) -> std::optional<HttpResponse> {
                    most = 1000;
                    return head.target == "/refused"
                               ? std::optional(HttpResponse{403, "application/json", "no", {}, false, ""})
                               : std::nullopt;
                  },
                  std::move(answer))
                  .value();
    server_->start();
  }
  Result<HttpAnswer> call(HttpCall call) const {
    return http_call({"127.0.0.1", std::to_string(server_->port())}, call);
  }
  static HttpResponse echo(const HttpRequest& request) {
    return {200, "text/plain", request.method + " " + request.target + " " + request.body, {}, false, ""};
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTest, AnswersRequests) {
  serve({}, echo);
  EXPECT_EQ(call({.method = "POST", .target = "/a?b", .body = "text"})->body, "POST /a?b text");
  EXPECT_EQ(call({.target = "/refused"})->status, 403);
}

TEST_F(HttpTest, ACallTakesNoMoreOfAnAnswerThanItSays) {
  serve({},
        [](const HttpRequest&) -> HttpResponse { return {200, "text/plain", std::string(5000, 'x'), {}, false, ""}; });
  EXPECT_EQ(call({.target = "/", .most_answer_bytes = 5000})->body.size(), 5000U);
  EXPECT_FALSE(call({.target = "/", .most_answer_bytes = 4999}).ok());
  const Result<HttpAnswer> status = call({.target = "/", .most_answer_bytes = 0});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(status->status, 200);
}

TEST_F(HttpTest, ACallThatNobodyWaitsForEnds) {
  std::promise<void> came;
  std::promise<void> go_on;
  serve({}, [&](const HttpRequest& request) {
    came.set_value();
    go_on.get_future().wait();
    return echo(request);
  });
  const std::future<void> has_come = came.get_future();
  const auto is_given_up = [&] { return has_come.wait_for(std::chrono::seconds(0)) == std::future_status::ready; };
  EXPECT_FALSE(call({.target = "/", .time = std::chrono::hours(1), .is_given_up = is_given_up}).ok());
  go_on.set_value();
  server_->stop();
}

TEST_F(HttpTest, RefusesWhatIsTooLarge) {
  serve({}, echo);
  EXPECT_EQ(call({.method = "POST", .target = "/", .body = std::string(1001, 'x')})->status, 413);
  EXPECT_EQ(call({.method = "POST", .target = "/", .body = std::string(1000, 'x')})->status, 200);
  EXPECT_EQ(call({.target = "/" + std::string(20'000, 'x')})->status, 431);
}

TEST_F(HttpTest, AMistakeOfAnAnswerIsNoEnd) {
  serve({}, [](const HttpRequest& request) -> HttpResponse {
    if (request.target == "/bad") throw std::runtime_error("secret");
    return echo(request);
  });
  const Result<HttpAnswer> bad = call({.target = "/bad"});
  EXPECT_EQ(bad->status, 500);
  EXPECT_THAT(bad->body, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(call({.target = "/good"})->status, 200);
}

TEST_F(HttpTest, AnswersThatAreUnderWayOutliveTheEnd) {
  std::promise<void> began;
  std::promise<void> go_on;
  serve({}, [&](const HttpRequest& request) {
    began.set_value();
    go_on.get_future().wait();
    return echo(request);
  });
  auto answer = std::async(std::launch::async, [&] { return call({.target = "/slow"}); });
  began.get_future().wait();
  auto stopped = std::async(std::launch::async, [&] { server_->stop(); });
  go_on.set_value();
  EXPECT_EQ(answer.get()->status, 200);
  stopped.get();
}

/// Reads on until `end` comes, or the peer closes.
std::string read_until(int fd, const std::string& end) {
  std::string got;
  std::array<char, 256> part{};
  while (end.empty() || got.find(end) == std::string::npos) {
    const ssize_t n = read(fd, part.data(), part.size());
    if (n <= 0) break;
    got.append(part.data(), static_cast<size_t>(n));
  }
  return got;
}

TEST_F(HttpTest, AStreamHearsItsAudienceAloneUntilItMayNoLonger) {
  std::atomic<bool> allowed = true;
  HttpServerOptions options;
  options.heartbeat = std::chrono::milliseconds(20);
  serve(options, [&](const HttpRequest&) {
    HttpResponse response{200, "text/event-stream", "begin\n\n", {}, true, "vision"};
    response.goes_on = [&] { return allowed.load(); };
    return response;
  });
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  constexpr std::string_view kAsk = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(write(fd, kAsk.data(), kAsk.size()), static_cast<ssize_t>(kAsk.size()));
  read_until(fd, "\n:\n\n");  // a heartbeat: the stream has begun
  server_->publish("", "data: of all\n\n");
  server_->publish("speech", "data: of others\n\n");
  server_->publish("vision", "data: own\n\n");
  const std::string heard = read_until(fd, "own\n\n");
  EXPECT_THAT(heard, HasSubstr("own"));
  EXPECT_THAT(heard, ::testing::Not(HasSubstr("of ")));
  allowed = false;
  read_until(fd, "");  // its end
  close(fd);
}

TEST(ServerUrl, IsTakenApart) {
  EXPECT_EQ(parse_server_url("http://[::1]:7430")->host, "::1");
  EXPECT_EQ(parse_server_url("http://coordinator")->port, "80");
  for (const char* wrong :
       {"", "coordinator:7430", "https://a:1", "http://:7430", "http://a:b", "http://a b:1", "http://u@h:1"}) {
    EXPECT_FALSE(parse_server_url(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace eroica
