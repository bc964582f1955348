#pragma once

#include <string>

#include "base/result.h"
#include "cli/server_client.h"
#include "web/http_client.h"

namespace eroica {

struct KnownServer {
  ServerUrl url;
  std::string token;  ///< empty: none
};

/// What options and environment say. Errors: kInvalid, kNotFound, kUnreadable.
Result<KnownServer> known_server(const ServerAccess& access);

}  // namespace eroica
