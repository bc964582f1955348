#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace eroica {

/// "http://host:port", taken apart.
struct ServerUrl {
  std::string host;
  std::string port = "80";
};
/// Error kInvalid: it is none of this form.
Result<ServerUrl> parse_server_url(std::string_view url);

/// "http://host:port/path?query"
struct TargetUrl {
  ServerUrl server;
  std::string target = "/";
};
/// Error kInvalid: it is none of this form.
Result<TargetUrl> parse_target_url(std::string_view url);

struct HttpCall {
  std::string method = "GET";
  std::string target;  ///< path and query
  std::string token;   ///< empty: none
  std::string body;    ///< JSON; empty: none
  std::vector<std::pair<std::string, std::string>> headers{};
  std::chrono::milliseconds time{10'000};      ///< for all of it
  size_t most_answer_bytes = size_t{1} << 20;  ///< 0: only its status is read
  /// Asked a few times a second while nothing comes; true: nobody waits for the answer any longer.
  std::function<bool()> is_given_up{};
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// One request by a connection of its own. Error kUnreadable: no answer, and why. Never throws.
Result<HttpAnswer> http_call(const ServerUrl& server, const HttpCall& call);

}  // namespace eroica
