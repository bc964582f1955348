#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "web/access.h"
#include "web/api.h"
#include "web/http_message.h"
#include "web/service.h"
#include "web/target.h"

namespace eroica {

/// One request that was admitted, with all that is needed to answer it.
struct ApiCall {
  Service* service = nullptr;
  const PolicyTools* policies = nullptr;
  const Caller* caller = nullptr;
  const HttpRequest* request = nullptr;
  const Target* target = nullptr;
  std::vector<std::string> arguments;  ///< what stood for {…} in the path
};

struct ApiRoute {
  std::string_view method;
  std::string_view path;  ///< "/api/v1/jobs/{job}"
  Role role = Role::kViewer;
  bool is_public = false;  ///< without a token
  bool is_audited = false;
  size_t most_body_bytes = 0;
  HttpResponse (*answer)(const ApiCall&) = nullptr;
  bool for_agents = false;  ///< an agent may do it as well
};
std::span<const ApiRoute> api_routes();

/// {"error": why}
HttpResponse api_problem(int status, std::string_view why);

}  // namespace eroica
