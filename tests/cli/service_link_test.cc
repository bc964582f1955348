#include "cli/service_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/json.h"
#include "web/http_server.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kBad = 13;

/// A server that takes what it is told, but no batch with a recovery at one step.
class StrictServer {
 public:
  StrictServer() {
    server_ = HttpServer::make(
                  {},
                  [](const HttpRequest&, size_t& most) -> std::optional<HttpResponse> {
                    most = size_t{1} << 20;
                    return std::nullopt;
                  },
                  [this](const HttpRequest& request) { return answer(request); })
                  .value();
    server_->start();
  }
  ServiceLinkOptions link() const {
    ServiceLinkOptions options;
    options.server.url = {"127.0.0.1", std::to_string(server_->port())};
    options.host = "h1";
    return options;
  }
  /// Steps of what it took.
  std::vector<int64_t> stop() {
    server_->stop();
    return taken_;
  }

 private:
  HttpResponse answer(const HttpRequest& request) {
    const ObservationBatch batch = parse_observations(request.body).value();
    std::vector<int64_t> steps;
    for (const Observation& one : batch.observations) steps.push_back(std::get<RecoveryTold>(one.what).step);
    if (std::ranges::find(steps, kBad) != steps.end()) return {400, "application/json", "{}", {}, false, ""};
    const std::lock_guard lock(mutex_);
    taken_.insert(taken_.end(), steps.begin(), steps.end());
    return {200, "application/json", R"({"acknowledged": 1, "orders": []})", {}, false, ""};
  }

  std::mutex mutex_;
  std::vector<int64_t> taken_;
  std::unique_ptr<HttpServer> server_;
};

TEST(ServiceLink, OfABatchThatIsRefusedOnlyThePieceToBlameIsLost) {
  StrictServer server;
  ServiceLink link(server.link());
  for (const int64_t step : {10, 11, 12, 13, 14, 15, 16}) link.tell("job7", 1, RecoveryTold{step});
  link.start();
  link.stop();
  EXPECT_THAT(server.stop(), ElementsAre(10, 11, 12, 14, 15, 16));
}

}  // namespace
}  // namespace eroica
