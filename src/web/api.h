#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/access.h"
#include "web/http_message.h"
#include "web/service.h"
#include "web/target.h"

namespace eroica {

/// What the stages after this one know of policies.
struct PolicyTools {
  std::string standard;  ///< the default policy as TOML
  /// What is wrong with a policy, each with its line; empty: nothing.
  std::function<std::vector<std::string>(const std::string& toml)> check;
  /// What it would have said of recorded steps ("step_seconds": …), as JSON. Error kWrite: not now; others: never.
  std::function<Result<std::string>(const std::string& toml, const std::string& steps_json)> replay;
};

/// The HTTP API of docs/openapi.json.
class Api {
 public:
  /// `service` must outlive it. `listen`: the address that it is served at.
  Api(Service& service, PolicyTools policies, std::string listen);

  /// As HttpServer::Admit: who asks and what for, before any of the body is taken.
  std::optional<HttpResponse> admit(const HttpRequest& head, size_t& most_body_bytes);
  /// As HttpServer::Answer, of a request that was admitted.
  HttpResponse answer(const HttpRequest& request);

  /// Method and path of each request that is known, as docs/openapi.json writes them.
  static std::vector<std::pair<std::string_view, std::string_view>> routes();

 private:
  /// nullopt: nobody who is known.
  std::optional<Caller> caller_of(const HttpRequest& head);

  Service* service_;
  PolicyTools policies_;
  std::string listen_;
};

}  // namespace eroica
