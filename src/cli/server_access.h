#pragma once

#include <string>
#include <string_view>

#include "agent/job_note.h"
#include "base/result.h"
#include "cli/server_client.h"
#include "web/http_client.h"

namespace eroica {

struct KnownServer {
  ServerUrl url;
  std::string token;  ///< empty: none
};

/// An id for a job of which a server is told and that nobody named: "run-HOST-PID-START". Of the same process it is the
/// same, of others, here or elsewhere, it is not.
std::string made_up_job(std::string_view what, const ProcessMark& owner);

/// What options and environment say. Errors: kInvalid, kNotFound, kUnreadable.
Result<KnownServer> known_server(const ServerAccess& access);

}  // namespace eroica
