#include "web/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>

namespace eroica {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Code = boost::system::error_code;

constexpr std::chrono::milliseconds kLookEvery{100};

/// One exchange, step by step, on the caller's thread.
class Exchange {
 public:
  Exchange(const ServerUrl& server, const HttpCall& call) : server_(server), call_(call) {}

  Result<HttpAnswer> run() {
    request_.version(11);
    request_.method_string(call_.method);
    request_.target(call_.target);
    request_.set(http::field::host, server_.host.find(':') == std::string::npos
                                        ? server_.host + ":" + server_.port
                                        : fmt::format("[{}]:{}", server_.host, server_.port));
    request_.set(http::field::user_agent, "eroica/" EROICA_VERSION);
    request_.set(http::field::connection, "close");
    if (!call_.token.empty()) request_.set(http::field::authorization, "Bearer " + call_.token);
    if (!call_.body.empty()) request_.set(http::field::content_type, "application/json");
    for (const auto& [name, value] : call_.headers) request_.set(name, value);
    request_.body() = call_.body;
    request_.prepare_payload();
    if (call_.most_answer_bytes > 0) {
      parser_.body_limit(call_.most_answer_bytes);
    } else {
      parser_.body_limit(boost::none);
    }
    parser_.header_limit(65'536);
    resolver_.async_resolve(server_.host, server_.port, [this](Code code, const tcp::resolver::results_type& found) {
      if (code) return finish(code);
      stream_.async_connect(found, [this](Code failed, const tcp::endpoint&) {
        if (failed) return finish(failed);
        http::async_write(stream_, request_, [this](Code written, size_t) {
          // A server that refuses early answers before it has read everything.
          write_failed_ = written;
          const auto then = [this](Code read, size_t) { finish(read && write_failed_ ? write_failed_ : read); };
          if (call_.most_answer_bytes == 0) return http::async_read_header(stream_, buffer_, parser_, then);
          http::async_read(stream_, buffer_, parser_, then);
        });
      });
    });
    stream_.expires_never();
    const auto end = std::chrono::steady_clock::now() + call_.time;
    while (!io_.stopped() && std::chrono::steady_clock::now() < end && !(call_.is_given_up && call_.is_given_up())) {
      io_.run_until(std::min(end, std::chrono::steady_clock::now() + kLookEvery));
    }
    if (!finished_) return problem("no answer in time");
    if (code_) return problem(code_.message());
    return HttpAnswer{static_cast<int>(parser_.get().result_int()), std::move(parser_.get().body())};
  }

 private:
  void finish(Code code) {
    finished_ = true;
    code_ = code;
  }
  [[nodiscard]] Error problem(const std::string& why) const {
    return {Error::Kind::kUnreadable, fmt::format("http://{}:{}: {}", server_.host, server_.port, why)};
  }

  const ServerUrl& server_;
  const HttpCall& call_;
  asio::io_context io_{1};
  tcp::resolver resolver_{io_};
  beast::tcp_stream stream_{io_};
  beast::flat_buffer buffer_{size_t{128} << 10};
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  Code code_;
  Code write_failed_;
  bool finished_ = false;
};

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view url) {
  const auto wrong = [&](std::string_view why) {
    return Error{Error::Kind::kInvalid, fmt::format("{}: {}; expected http://HOST:PORT", url, why)};
  };
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) return wrong("TLS is not spoken; use a proxy that does");
  if (!url.starts_with(kScheme)) return wrong("no address of a server");
  std::string_view rest = url.substr(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  ServerUrl server;
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return wrong("a bracket is missing");
    server.host = std::string(rest.substr(1, end - 1));
    rest = rest.substr(end + 1);
  } else {
    const size_t end = std::min(rest.find(':'), rest.size());
    server.host = std::string(rest.substr(0, end));
    rest = rest.substr(end);
  }
  if (rest.starts_with(':')) server.port = std::string(rest.substr(1));
  const bool digits = !server.port.empty() && server.port.size() <= 5 &&
                      std::ranges::all_of(server.port, [](char c) { return c >= '0' && c <= '9'; });
  if ((!rest.empty() && !rest.starts_with(':')) || !digits) return wrong("no port");
  const auto plain = [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '/' && c != '@' && c != '?' && c != '#';
  };
  if (server.host.empty() || !std::ranges::all_of(server.host, plain)) return wrong("no host");
  return server;
}

Result<TargetUrl> parse_target_url(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t slash = scheme == std::string_view::npos ? scheme : url.find('/', scheme + 3);
  const Result<ServerUrl> server = parse_server_url(url.substr(0, slash));
  if (!server) return server.error();
  TargetUrl parsed{*server, "/"};
  if (slash != std::string_view::npos) parsed.target = std::string(url.substr(slash));
  const auto plain = [](unsigned char c) { return c > ' ' && c < 0x7f && c != '#'; };
  if (std::ranges::all_of(parsed.target, plain)) return parsed;
  return Error{Error::Kind::kInvalid, fmt::format("{}: its path has characters that must be encoded", url)};
}

Result<HttpAnswer> http_call(const ServerUrl& server, const HttpCall& call) {
  try {
    return Exchange(server, call).run();
  } catch (const std::exception& problem) {  // as where no descriptor is left
    return Error{Error::Kind::kUnreadable, fmt::format("http://{}:{}: {}", server.host, server.port, problem.what())};
  }
}

}  // namespace eroica
