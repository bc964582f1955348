#include "web/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <deque>
#include <exception>
#include <functional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace eroica {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Code = boost::system::error_code;

constexpr size_t kMostQueuedEvents = 256;
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

HttpResponse refusal(int status, std::string_view why) {
  return {status, "application/json", fmt::format("{{\"error\":\"{}\"}}", why), {}, false, ""};
}

}  // namespace

/// All but the answers themselves happens on one thread.
struct HttpServer::Parts {
  HttpServerOptions options;
  Admit admit;
  Answer answer;
  asio::io_context io{1};
  asio::thread_pool pool;
  tcp::acceptor acceptor{io};
  asio::steady_timer timer{io};  // of streams' heartbeats
  asio::steady_timer pause{io};  // after there was no descriptor for a connection
  std::set<std::shared_ptr<Session>> sessions;
  size_t pending_bytes = 0;
  bool stopping = false;
  bool started = false;
  std::thread thread;

  Parts(HttpServerOptions with, Admit first, Answer then)
      : options(std::move(with)), admit(std::move(first)), answer(std::move(then)), pool(options.threads) {}

  void accept();
  void beat();
  void end(const std::shared_ptr<Session>& session);
  void begin_stop();
  [[nodiscard]] bool has_room_for_stream() const;
};

/// One connection, with one request after the other.
class HttpServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Parts& server) : stream_(std::move(socket)), server_(server), options_(server.options) {
    Code code;
    peer_ = stream_.socket().remote_endpoint(code).address().to_string();
    Code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }

  void begin() { read_head(); }

  /// Ends after the answer that is under way, or at once.
  void begin_stop() {
    stopping_ = true;
    if (is_stream_ || !busy_) close();
  }
  void close() {
    if (closed_) return;
    closed_ = true;
    release();
    Code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    server_.end(shared_from_this());
  }

  [[nodiscard]] bool is_stream() const { return is_stream_; }
  void send_event(const std::string& audience, const std::shared_ptr<const std::string>& event) {
    if (audience_.empty() || audience_ == audience) queue_event(event);
  }
  void beat(const std::shared_ptr<const std::string>& nothing) {
    if (is_stream_ && !closed_ && goes_on_ && !goes_on_()) return close();
    queue_event(nothing);
  }

 private:
  void read_head() {
    busy_ = false;
    if (stopping_) return close();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(options_.most_head_bytes));
    parser_->body_limit(boost::none);
    stream_.expires_after(options_.head_time);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](Code code, size_t) { self->on_head(code); });
  }

  void on_head(Code code) {
    if (closed_) return;
    if (code == http::error::header_limit || code == http::error::buffer_overflow) {
      return send_last(refusal(431, "the head of the request is too long"));
    }
    if (code.category() == http::make_error_code(http::error::bad_method).category() &&
        code != http::error::end_of_stream && code != http::error::partial_message) {
      return send_last(refusal(400, "this is no request of HTTP/1.1"));
    }
    if (code) return close();
    busy_ = true;
    const auto& head = parser_->get();
    request_ = HttpRequest();
    request_.method = std::string(head.method_string());
    request_.target = std::string(head.target());
    request_.peer = peer_;
    request_.host = std::string(head[http::field::host]);
    request_.authorization = std::string(head[http::field::authorization]);
    const std::string type(head[http::field::content_type]);
    request_.content_type = lower(std::string_view(type).substr(0, type.find_first_of("; ")));
    size_t most_body = 0;
    if (std::optional<HttpResponse> refused = server_.admit(request_, most_body)) return send_last(std::move(*refused));
    if (parser_->content_length().value_or(0) > most_body) {
      return send_last(refusal(413, "the body of the request is too long"));
    }
    reserved_ = static_cast<size_t>(parser_->content_length().value_or(parser_->chunked() ? most_body : 0));
    server_.pending_bytes += reserved_;
    if (server_.pending_bytes > options_.most_pending_bytes) {
      return send_last(refusal(503, "too much is being sent at once; try again"));
    }
    parser_->body_limit(most_body);
    if (head[http::field::expect] == "100-continue") return send_continue();
    read_body();
  }

  void send_continue() {
    stream_.expires_after(options_.body_time);
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue), [self = shared_from_this()](Code code, size_t) {
      if (code || self->closed_) return self->close();
      self->read_body();
    });
  }

  void read_body() {
    stream_.expires_after(options_.body_time);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Code code, size_t) {
      if (self->closed_) return;
      if (code == http::error::body_limit) {
        return self->send_last(refusal(413, "the body of the request is too long"));
      }
      if (code == beast::error::timeout) return self->close();
      if (code) return self->send_last(refusal(400, "the body of the request is broken"));
      self->find_answer();
    });
  }

  void release() {
    server_.pending_bytes -= reserved_;
    reserved_ = 0;
  }

  void find_answer() {
    request_.body = std::move(parser_->get().body());
    stream_.expires_never();
    asio::post(server_.pool, [self = shared_from_this(), request = std::move(request_)]() mutable {
      auto response = std::make_shared<HttpResponse>();
      try {
        *response = self->server_.answer(std::move(request));
      } catch (const std::exception&) {
        *response = refusal(500, "the server made a mistake");
      }
      asio::post(self->stream_.get_executor(), [self, response] {
        self->release();
        if (!self->closed_) self->send(std::move(*response), self->parser_->get().keep_alive() && !self->stopping_);
      });
    });
  }

  /// After what was left unread nothing can follow.
  void send_last(HttpResponse response) { send(std::move(response), false); }

  void send(HttpResponse response, bool keep_alive) {
    if (response.is_stream && !server_.has_room_for_stream()) response = refusal(503, "there are too many streams");
    const bool is_stream = response.is_stream;
    audience_ = response.audience;
    goes_on_ = std::move(response.goes_on);
    busy_ = true;
    http::response<http::string_body> message;
    message.version(11);
    message.result(static_cast<unsigned>(response.status));
    message.set(http::field::content_type, response.content_type);
    message.set(http::field::cache_control, "no-store");
    message.set("X-Content-Type-Options", "nosniff");
    message.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    for (const auto& [name, value] : response.headers) message.set(name, value);
    message.keep_alive(keep_alive && !is_stream);
    message.body() = std::move(response.body);
    const bool has_no_body = parser_ && parser_->is_header_done() && parser_->get().method() == http::verb::head;
    if (!is_stream) message.prepare_payload();
    if (has_no_body) message.body().clear();
    stream_.expires_after(options_.body_time);
    out_.emplace(std::move(message));
    if (has_no_body) {
      serializer_.emplace(*out_);
      return http::async_write_header(
          stream_, *serializer_,
          [self = shared_from_this(), keep_alive](Code code, size_t) { self->on_sent(code, keep_alive, false); });
    }
    http::async_write(stream_, *out_, [self = shared_from_this(), keep_alive, is_stream](Code code, size_t) {
      self->on_sent(code, keep_alive, is_stream);
    });
  }

  void on_sent(Code code, bool keep_alive, bool is_stream) {
    if (closed_) return;
    // A stream has no length, so that its beginning ends like a whole message.
    if (code && code != http::error::end_of_stream) return close();
    if (is_stream) {
      if (stopping_) return close();
      is_stream_ = true;
      stream_.expires_never();
      return watch_peer();
    }
    if (!keep_alive) return linger();
    read_head();
  }

  /// What the peer still sends is read for a moment, since else it may never see the answer.
  void linger() {
    Code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    if (stopping_) return close();
    stream_.expires_after(std::chrono::seconds(1));
    drain(size_t{1} << 16);
  }

  void drain(size_t most_reads) {
    stream_.async_read_some(asio::buffer(scratch_), [self = shared_from_this(), most_reads](Code code, size_t) {
      if (code || self->closed_ || most_reads == 0) return self->close();
      self->drain(most_reads - 1);
    });
  }

  /// Nobody writes to us on a stream: what comes is its end.
  void watch_peer() {
    stream_.socket().async_read_some(asio::buffer(scratch_),
                                     [self = shared_from_this()](Code, size_t) { self->close(); });
  }

  void queue_event(const std::shared_ptr<const std::string>& event) {
    if (!is_stream_ || closed_) return;
    if (events_.size() >= kMostQueuedEvents) return close();
    events_.push_back(event);
    if (events_.size() == 1) write_event();
  }

  void write_event() {
    stream_.expires_after(options_.body_time);
    asio::async_write(stream_, asio::buffer(*events_.front()), [self = shared_from_this()](Code code, size_t) {
      if (code || self->closed_) return self->close();
      self->events_.pop_front();
      self->stream_.expires_never();
      if (!self->events_.empty()) self->write_event();
    });
  }

  beast::tcp_stream stream_;
  Parts& server_;
  const HttpServerOptions& options_;
  std::string peer_;
  beast::flat_buffer buffer_{size_t{128} << 10};
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;
  std::optional<http::response<http::string_body>> out_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::string audience_;
  std::function<bool()> goes_on_;
  std::deque<std::shared_ptr<const std::string>> events_;
  std::array<char, 4096> scratch_{};
  size_t reserved_ = 0;  // of the server's pending bytes
  bool busy_ = false;    // a request was read, and its answer is not out
  bool is_stream_ = false;
  bool stopping_ = false;
  bool closed_ = false;
};

bool HttpServer::Parts::has_room_for_stream() const {
  const auto open = std::ranges::count_if(sessions, [](const auto& one) { return one->is_stream(); });
  return static_cast<size_t>(open) < options.most_streams;
}

void HttpServer::Parts::accept() {
  acceptor.async_accept([this](Code code, tcp::socket socket) {
    if (stopping) return;
    if (code == asio::error::no_descriptors) {
      pause.expires_after(kAcceptPause);
      return pause.async_wait([this](Code) {
        if (!stopping) accept();
      });
    }
    if (!code && sessions.size() < options.most_connections) {
      auto session = std::make_shared<Session>(std::move(socket), *this);
      sessions.insert(session);
      session->begin();
    }
    accept();
  });
}

void HttpServer::Parts::end(const std::shared_ptr<Session>& session) {
  sessions.erase(session);
  if (stopping && sessions.empty()) io.stop();
}

void HttpServer::Parts::beat() {
  timer.expires_after(options.heartbeat);
  timer.async_wait([this](Code code) {
    if (code || stopping) return;
    const auto nothing = std::make_shared<const std::string>(":\n\n");
    const std::vector<std::shared_ptr<Session>> all(sessions.begin(), sessions.end());
    for (const auto& session : all) session->beat(nothing);
    beat();
  });
}

void HttpServer::Parts::begin_stop() {
  stopping = true;
  Code ignored;
  acceptor.close(ignored);
  const std::vector<std::shared_ptr<Session>> all(sessions.begin(), sessions.end());
  for (const auto& session : all) session->begin_stop();
  if (sessions.empty()) return io.stop();
  timer.expires_after(options.stop_time);
  timer.async_wait([this](Code) { io.stop(); });
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::make(HttpServerOptions options, Admit admit, Answer answer) {
  Code code;
  const asio::ip::address address = asio::ip::make_address(options.address, code);
  if (code) {
    return Error{Error::Kind::kInvalid, fmt::format("{}: expected an IP address to listen on", options.address)};
  }
  const tcp::endpoint endpoint(address, options.port);
  const std::string where = fmt::format("{}:{}", options.address, options.port);
  auto parts = std::make_unique<Parts>(std::move(options), std::move(admit), std::move(answer));
  tcp::acceptor& acceptor = parts->acceptor;
  acceptor.open(endpoint.protocol(), code);
  if (!code) acceptor.set_option(asio::socket_base::reuse_address(true), code);
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(asio::socket_base::max_listen_connections, code);
  if (code) return Error{Error::Kind::kWrite, fmt::format("cannot listen on {}: {}", where, code.message())};
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

uint16_t HttpServer::port() const {
  Code ignored;
  return parts_->acceptor.local_endpoint(ignored).port();
}

void HttpServer::start() {
  parts_->started = true;
  parts_->accept();
  parts_->beat();
  parts_->thread = std::thread([this] { parts_->io.run(); });
}

void HttpServer::stop() {
  if (!parts_->started) return;
  parts_->started = false;
  asio::post(parts_->io, [this] { parts_->begin_stop(); });
  parts_->thread.join();
  parts_->pool.join();
  const std::vector<std::shared_ptr<Session>> left(parts_->sessions.begin(), parts_->sessions.end());
  for (const auto& session : left) session->close();
}

void HttpServer::publish(const std::string& audience, const std::string& event) {
  asio::post(parts_->io, [this, audience, text = std::make_shared<const std::string>(event)] {
    const std::vector<std::shared_ptr<Session>> all(parts_->sessions.begin(), parts_->sessions.end());
    for (const auto& session : all) session->send_event(audience, text);
  });
}

bool is_loopback(const std::string& address) {
  Code code;
  const asio::ip::address parsed = asio::ip::make_address(address, code);
  return !code && parsed.is_loopback();
}

}  // namespace eroica
