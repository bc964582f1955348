#include "web/api.h"

#include <algorithm>
#include <array>

#include "web/api_call.h"
#include "web/http_server.h"

namespace eroica {
namespace {

constexpr size_t kMostToken = 512;
constexpr size_t kMostDeed = 300;

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

/// Does the path fit? What stands for {…} is added to `arguments`.
bool fits(std::string_view pattern, const std::vector<std::string>& path, std::vector<std::string>& arguments) {
  const std::vector<std::string_view> parts = segments(pattern);
  if (parts.size() != path.size()) return false;
  arguments.clear();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].starts_with('{')) {
      arguments.push_back(path[i]);
    } else if (parts[i] != path[i]) {
      return false;
    }
  }
  return true;
}

struct Found {
  const ApiRoute* route = nullptr;
  std::vector<std::string> arguments;
  std::string allowed;  ///< methods of the path, where only the method does not fit
};

Found find_route(std::string_view method, const std::vector<std::string>& path) {
  Found found;
  if (method == "HEAD") method = "GET";
  for (const ApiRoute& route : api_routes()) {
    std::vector<std::string> arguments;
    if (!fits(route.path, path, arguments)) continue;
    if (route.method == method) return {&route, std::move(arguments), ""};
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

/// Of a Host header, without the port.
std::string_view name_of_host(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']'), host.size() - 1) + 1);
  return host.substr(0, host.find(':'));
}

HttpResponse unknown_caller() {
  HttpResponse response = api_problem(401, "a token is needed: Authorization: Bearer TOKEN");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

Api::Api(Service& service, PolicyTools policies, std::string listen)
    : service_(&service), policies_(std::move(policies)), listen_(std::move(listen)) {}

std::optional<Caller> Api::caller_of(const HttpRequest& head) {
  if (!service_->needs_token()) {
    if (!is_loopback(listen_)) return std::nullopt;
    // Everybody on this machine may do everything; but no page of another site that a browser here shows, which reaches
    // us under a name of its own.
    constexpr std::array<std::string_view, 3> kOwnNames = {"localhost", "127.0.0.1", "[::1]"};
    const std::string_view name = name_of_host(head.host);
    const bool own = name == listen_ || std::ranges::find(kOwnNames, name) != kOwnNames.end();
    return own ? std::optional(Caller{"local", Role::kAdmin, ""}) : std::nullopt;
  }
  constexpr std::string_view kBearer = "Bearer ";
  if (!head.authorization.starts_with(kBearer) || head.authorization.size() > kMostToken) return std::nullopt;
  return service_->caller_of(head.authorization.substr(kBearer.size()));
}

std::optional<HttpResponse> Api::admit(const HttpRequest& head, size_t& most_body_bytes) {
  const std::optional<Target> target = parse_target(head.target);
  if (!target) return api_problem(400, "the path of the request is broken");
  const Found found = find_route(head.method, target->path);
  const ApiRoute* route = found.route;
  if (route == nullptr || !route->is_public) {
    const std::optional<Caller> caller = caller_of(head);
    if (!caller) return unknown_caller();
    if (route == nullptr && found.allowed.empty()) return api_problem(404, "there is no such page");
    if (route == nullptr) {
      HttpResponse response = api_problem(405, "this page does not know this method");
      response.headers.emplace_back("Allow", found.allowed);
      return response;
    }
    const bool as_agent = route->for_agents && caller->role == Role::kAgent;
    if (!as_agent && !may(*caller, route->role)) return api_problem(403, "the token does not allow this");
  }
  // So that a browser asks us first before it sends what another site's page wants.
  if (route->most_body_bytes > 0 && head.content_type != "application/json") {
    return api_problem(415, "expected Content-Type: application/json");
  }
  most_body_bytes = route->most_body_bytes;
  return std::nullopt;
}

HttpResponse Api::answer(const HttpRequest& request) {
  const std::optional<Target> target = parse_target(request.target);
  Found found = target ? find_route(request.method, target->path) : Found();
  if (found.route == nullptr) return api_problem(404, "there is no such page");
  std::optional<Caller> caller = caller_of(request);
  if (!caller) {
    if (!found.route->is_public) return unknown_caller();  // its time ended meanwhile
    caller = Caller{"", Role::kViewer, ""};
  }
  const ApiCall call{service_, &policies_, &*caller, &request, &*target, std::move(found.arguments)};
  HttpResponse response = found.route->answer(call);
  if (response.is_stream) {
    response.goes_on = [this, request, tenant = caller->tenant] {
      const std::optional<Caller> now = caller_of(request);
      return now && now->tenant == tenant;
    };
  }
  if (found.route->is_audited) {
    const std::string deed = (request.method + " " + request.target).substr(0, kMostDeed);
    // Where this cannot be written what it is about could not be either, or only read.
    (void)service_->add_audit({0, service_->now(), caller->tenant, caller->name, std::string(role_name(caller->role)),
                               request.peer, deed, response.status});
  }
  return response;
}

std::vector<std::pair<std::string_view, std::string_view>> Api::routes() {
  std::vector<std::pair<std::string_view, std::string_view>> list;
  for (const ApiRoute& route : api_routes()) list.emplace_back(route.method, route.path);
  return list;
}

}  // namespace eroica
