#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace eroica {

struct HttpRequest {
  std::string method;         ///< "GET"
  std::string target;         ///< path and query as they came
  std::string peer;           ///< address without port
  std::string host;           ///< of the header
  std::string authorization;  ///< of the header
  std::string content_type;   ///< of the header, without parameters, in lower case
  std::string body;           ///< empty while only the head was read
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Stays open, and carries the events of one audience (HttpServer::publish) after the body; empty: of all.
  bool is_stream = false;
  std::string audience;
  /// Asked at each heartbeat of a stream, and must not wait; false: it ends. None: it goes on.
  std::function<bool()> goes_on{};
};

}  // namespace eroica
