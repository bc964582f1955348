#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "web/http_message.h"

namespace eroica {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;   ///< 0: any that is free
  size_t threads = 2;  ///< that answer; one more does all input and output
  size_t most_connections = 1024;
  size_t most_streams = 256;  ///< of those
  size_t most_head_bytes = 16'384;
  size_t most_pending_bytes = size_t{256} << 20;  ///< of all bodies that are being read or answered
  std::chrono::milliseconds head_time{10'000};    ///< for all of a request's head; so long a connection may also rest
  std::chrono::milliseconds body_time{30'000};    ///< for all of its body; also for the answer to be taken
  std::chrono::milliseconds stop_time{5'000};     ///< for answers that are under way
  std::chrono::milliseconds heartbeat{15'000};    ///< of streams
};

/// HTTP/1.1 for an open port: whatever peers send or leave unsent, it holds a bounded part of memory, time and
/// connections. Connections beyond the bound are closed at once.
class HttpServer {
 public:
  /// Looks at a request of which only the head was read: the answer, if it is refused; else how many bytes its body may
  /// have is written to `most_body_bytes`. Must not wait.
  using Admit = std::function<std::optional<HttpResponse>(const HttpRequest& head, size_t& most_body_bytes)>;
  /// Answers a request; on any of several threads, and on several at once.
  using Answer = std::function<HttpResponse(HttpRequest request)>;

  /// Binds. Error kInvalid: no address; kWrite: it cannot be bound, and why.
  static Result<std::unique_ptr<HttpServer>> make(HttpServerOptions options, Admit admit, Answer answer);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] uint16_t port() const;
  void start();
  /// Takes no new requests, lets answers that are under way go out, and ends streams.
  void stop();
  /// Sends to the open streams whose audience is `audience` or empty; an empty one is only for the latter. `event`:
  /// whole lines of text/event-stream, with the empty line at the end. A stream that takes too little is closed. On any
  /// thread; never waits.
  void publish(const std::string& audience, const std::string& event);

 private:
  struct Parts;
  class Session;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Can only processes of this machine reach this address?
bool is_loopback(const std::string& address);

}  // namespace eroica
