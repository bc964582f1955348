#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "agent/job_note.h"
#include "coordinator/json.h"
#include "web/api_call.h"
#include "web/prometheus.h"
#include "web/service_page.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSmallBody = size_t{64} << 10;
constexpr size_t kStepsBody = size_t{4} << 20;
constexpr size_t kObservationsBody = size_t{16} << 20;
constexpr int64_t kMostRows = 1000;
constexpr size_t kMostWhole = 10;  // diagnoses in an incident's document
constexpr int64_t kPeriodNs = int64_t{30} * 86'400 * 1'000'000'000;

HttpResponse answered(const Json& json, int status = 200) {
  return {status, "application/json", text_of(json), {}, false, ""};
}

/// What went wrong here is 503: it may be well again soon.
HttpResponse failed(const Error& error) {
  switch (error.kind) {
    case Error::Kind::kNotFound:
      return api_problem(404, error.message);
    case Error::Kind::kInvalid:
      return api_problem(400, error.message);
    default: {
      // Names of files are nobody's business.
      const size_t colon = error.message.rfind(": ");
      HttpResponse response =
          api_problem(503, colon == std::string::npos ? error.message : error.message.substr(colon + 2));
      response.headers.emplace_back("Retry-After", "5");
      return response;
    }
  }
}

std::string query(const ApiCall& call, const char* key) {
  const auto place = call.target->query.find(key);
  return place == call.target->query.end() ? "" : place->second;
}

std::optional<int64_t> whole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// A number of the query. `otherwise`: it is not there. nullopt: it is none.
std::optional<int64_t> number_in(const ApiCall& call, const char* key, int64_t otherwise) {
  const std::string text = query(call, key);
  return text.empty() ? std::optional(otherwise) : whole(text);
}

/// Of whom the caller may see things, and asks for; nullopt: everybody.
std::optional<std::string> tenant_asked(const ApiCall& call) {
  if (!call.caller->tenant.empty()) return call.caller->tenant;
  const auto place = call.target->query.find("tenant");
  return place == call.target->query.end() ? std::nullopt : std::optional(place->second);
}

/// The tenant of the job in the path.
Result<std::string> tenant_of_job(const ApiCall& call) {
  const std::string& job = call.arguments[0];
  if (const std::optional<std::string> asked = tenant_asked(call)) return *asked;
  const std::vector<std::string> tenants = call.service->tenants_of(*call.caller, job);
  if (tenants.size() > 1) {
    return Error{Error::Kind::kInvalid, fmt::format("several tenants have a job {}: say which with ?tenant=", job)};
  }
  return tenants.empty() ? std::string() : tenants.front();
}

/// The incident in the path, where the caller may see it.
Result<Incident> incident_of(const ApiCall& call) {
  const std::optional<int64_t> id = whole(call.arguments[0]);
  Result<std::optional<Incident>> found = id ? call.service->incident(*id) : std::optional<Incident>();
  if (!found) return found.error();
  if (!*found || !sees(*call.caller, (*found)->tenant)) {
    return Error{Error::Kind::kNotFound, fmt::format("there is no incident {}", call.arguments[0])};
  }
  return std::move(**found);
}

Json list_item(const StoredDocument& document) {
  return {{"id", document.id},           {"job", document.job},
          {"host", document.host},       {"incident", document.incident > 0 ? Json(document.incident) : Json()},
          {"unix_ns", document.unix_ns}, {"healthy", document.healthy}};
}

Json to_json(const Order& order) {
  Json json = {{"id", order.id}, {"job", order.job}, {"host", order.host}, {"unix_ns", order.unix_ns}};
  json["state"] = order.outcome ? (order.outcome->refused.empty() ? "taken" : "refused")
                  : order.sent  ? "sent"
                                : "waiting";
  json["window"] = order.outcome && !order.outcome->window.empty() ? Json(order.outcome->window) : Json();
  json["refused"] = order.outcome && !order.outcome->refused.empty() ? Json(order.outcome->refused) : Json();
  return json;
}

template <typename Items, typename ToJson>
Json array_of(const Items& items, ToJson convert) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(convert(item));
  return list;
}

Json array_of(const std::vector<Feedback>& items) {
  return array_of(items, [](const Feedback& one) { return eroica::to_json(one); });
}

// -- of the server

HttpResponse healthz(const ApiCall& call) {
  return answered({{"state", call.service->health().problem.empty() ? "ok" : "degraded"}});
}

/// Nothing but its own script runs in it, and it can reach nobody but us.
HttpResponse page(const ApiCall& /*call*/) {
  std::string policy = fmt::format(
      "default-src 'none'; script-src '{}'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      kServicePageScript);
  return {200,
          "text/html; charset=utf-8",
          std::string(kServicePage),
          {{"Content-Security-Policy", std::move(policy)}, {"Referrer-Policy", "no-referrer"}},
          false,
          ""};
}

HttpResponse metrics(const ApiCall& call) {
  const std::optional<std::string> tenant = tenant_asked(call);
  const int64_t now_ns = call.service->now();
  const Result<PeriodReport> report = call.service->report(tenant, now_ns - kPeriodNs, now_ns + 1);
  if (!report) return failed(report.error());
  const std::vector<JobRecord> jobs = call.service->jobs(tenant);
  return {200,
          "text/plain; version=0.0.4",
          prometheus_text(jobs, *report, call.service->health(), now_ns, call.service->life()),
          {},
          false,
          ""};
}

HttpResponse events(const ApiCall& call) {
  return {200, "text/event-stream", ": eroica\n\n", {}, true, call.caller->tenant};
}

HttpResponse audit(const ApiCall& call) {
  const std::optional<int64_t> limit = number_in(call, "limit", 100);
  if (!limit) return api_problem(400, "'limit' must be a whole number");
  const Result<std::vector<AuditLine>> lines = call.service->audit(tenant_asked(call), std::min(*limit, kMostRows));
  if (!lines) return failed(lines.error());
  return answered({{"audit", array_of(*lines, [](const AuditLine& line) -> Json {
                      return {{"id", line.id},     {"unix_ns", line.unix_ns}, {"tenant", line.tenant},
                              {"who", line.who},   {"role", line.role},       {"peer", line.peer},
                              {"deed", line.deed}, {"status", line.status}};
                    })}});
}

// -- what watchers tell

HttpResponse observations(const ApiCall& call) {
  const Result<ObservationBatch> batch = parse_observations(call.request->body);
  if (!batch) return failed(batch.error());
  const Result<Service::Taken> taken = call.service->take(call.caller->tenant, *batch);
  if (!taken) return failed(taken.error());
  Json orders = array_of(taken->orders, [](const Order& order) -> Json {
    return {{"id", order.id},
            {"job", order.job},
            {"host", order.host},
            {"window_s", order.request.window_s ? Json(*order.request.window_s) : Json()},
            {"reason", order.request.reason}};
  });
  return answered({{"acknowledged", taken->acknowledged}, {"orders", std::move(orders)}});
}

// -- jobs

HttpResponse jobs(const ApiCall& call) {
  const int64_t now_ns = call.service->now();
  const std::vector<JobRecord> list = call.service->jobs(tenant_asked(call));
  return answered({{"jobs", array_of(list, [&](const JobRecord& job) {
                      return eroica::to_json(job, now_ns, call.service->life(), false);
                    })}});
}

HttpResponse job(const ApiCall& call) {
  const Result<std::string> tenant = tenant_of_job(call);
  if (!tenant) return failed(tenant.error());
  const std::optional<JobRecord> found = call.service->job(*tenant, call.arguments[0]);
  if (!found) return api_problem(404, fmt::format("there is no job {}", call.arguments[0]));
  Json json = eroica::to_json(*found, call.service->now(), call.service->life(), true);
  json["orders"] =
      array_of(call.service->orders(*tenant, found->job), [](const Order& order) { return to_json(order); });
  return answered(json);
}

HttpResponse job_diagnoses(const ApiCall& call) {
  const Result<std::string> tenant = tenant_of_job(call);
  if (!tenant) return failed(tenant.error());
  const Result<std::vector<StoredDocument>> found = call.service->documents(*tenant, call.arguments[0], 100);
  if (!found) return failed(found.error());
  return answered({{"diagnoses", array_of(*found, list_item)}});
}

Json body_of(const ApiCall& call) {
  return is_shallow(call.request->body) ? Json::parse(call.request->body, nullptr, false) : Json();
}

HttpResponse trigger(const ApiCall& call) {
  const Result<std::string> tenant = tenant_of_job(call);
  if (!tenant) return failed(tenant.error());
  Json asked = call.request->body.empty() ? Json::object() : body_of(call);
  if (!asked.is_object()) return api_problem(400, "expected an object of JSON");
  asked["do"] = "trigger";
  const std::optional<ControlRequest> request = decode_request(text_of(asked));
  if (!request) {
    return api_problem(400, fmt::format("'window_s' must be from {} to {}", kLeastWindowS, kMostWindowS));
  }
  const Result<std::vector<Order>> orders = call.service->trigger(*tenant, call.arguments[0], *request);
  if (!orders) return failed(orders.error());
  return answered({{"orders", array_of(*orders, [](const Order& order) { return to_json(order); })}}, 202);
}

// -- incidents

HttpResponse incidents(const ApiCall& call) {
  IncidentFilter filter;
  filter.tenant = tenant_asked(call);
  filter.job = query(call, "job");
  const std::string state = query(call, "state");
  if (state == "open" || state == "closed") filter.open = state == "open";
  const std::optional<int64_t> limit = number_in(call, "limit", 100);
  const std::optional<int64_t> before = number_in(call, "before", 0);
  if (!limit || !before || (!state.empty() && !filter.open)) {
    return api_problem(400, "'state' must be open or closed, 'limit' and 'before' whole numbers");
  }
  filter.most = std::min(*limit, kMostRows);
  filter.before_id = *before;
  const Result<std::vector<Incident>> found = call.service->incidents(filter);
  if (!found) return failed(found.error());
  return answered({{"incidents", array_of(*found, [](const Incident& one) { return summary_json(one); })}});
}

Json file_json(const IncidentFile& file) {
  Json json = eroica::to_json(file.incident);
  json["diagnoses"] = array_of(file.documents, list_item);
  json["changes_near_onset"] = array_of(file.near, [](const NearChange& one) { return eroica::to_json(one); });
  json["actions"] = array_of(file.actions, [](const Change& one) { return eroica::to_json(one); });
  json["feedback"] = array_of(file.feedback);
  return json;
}

HttpResponse incident(const ApiCall& call) {
  const Result<Incident> found = incident_of(call);
  if (!found) return failed(found.error());
  const Result<IncidentFile> file = call.service->file_of(*found);
  return file ? answered(file_json(*file)) : failed(file.error());
}

HttpResponse incident_document(const ApiCall& call) {
  const Result<Incident> found = incident_of(call);
  if (!found) return failed(found.error());
  const Result<IncidentFile> file = call.service->file_of(*found);
  if (!file) return failed(file.error());
  Json json = {{"schema", "eroica.incident/1"}, {"incident", file_json(*file)}};
  Json whole_documents = Json::array();
  for (const StoredDocument& listed : file->documents) {
    if (whole_documents.size() == kMostWhole) break;
    const Result<std::optional<StoredDocument>> document = call.service->document(listed.id);
    if (!document) return failed(document.error());
    if (*document) whole_documents.push_back(Json::parse((*document)->json, nullptr, false));
  }
  json["documents"] = std::move(whole_documents);
  return answered(json);
}

HttpResponse add_feedback(const ApiCall& call) {
  const Result<Incident> found = incident_of(call);
  if (!found) return failed(found.error());
  Result<Feedback> feedback = parse_feedback(call.request->body);
  if (!feedback) return failed(feedback.error());
  feedback->incident = found->id;
  feedback->unix_ns = call.service->now();
  feedback->who = call.caller->name;
  if (Status added = call.service->add_feedback(*feedback); !added) return failed(added.error());
  return answered(eroica::to_json(*feedback), 201);
}

HttpResponse diagnosis(const ApiCall& call) {
  const std::optional<int64_t> id = whole(call.arguments[0]);
  const Result<std::optional<StoredDocument>> found =
      id ? call.service->document(*id) : std::optional<StoredDocument>();
  if (!found) return failed(found.error());
  if (!*found || !sees(*call.caller, (*found)->tenant)) {
    return api_problem(404, fmt::format("there is no diagnosis {}", call.arguments[0]));
  }
  return {200, "application/json", (*found)->json, {}, false, ""};
}

// -- changes and reports

/// From and to of the query; the last 30 days where it says nothing.
std::optional<std::pair<int64_t, int64_t>> period(const ApiCall& call) {
  const int64_t now_ns = call.service->now();
  const std::optional<int64_t> to_ns = number_in(call, "to_unix_ns", now_ns + 1);
  const std::optional<int64_t> from_ns = number_in(call, "from_unix_ns", std::max<int64_t>(0, now_ns - kPeriodNs));
  if (!from_ns || !to_ns || *from_ns > *to_ns) return std::nullopt;
  return std::pair(*from_ns, *to_ns);
}

HttpResponse changes(const ApiCall& call) {
  const auto times = period(call);
  const std::optional<int64_t> limit = number_in(call, "limit", 100);
  if (!times || !limit) return api_problem(400, "'from_unix_ns', 'to_unix_ns' and 'limit' must be whole numbers");
  const Result<std::vector<Change>> found =
      call.service->changes(tenant_asked(call), times->first, times->second, std::min(*limit, kMostRows));
  if (!found) return failed(found.error());
  return answered({{"changes", array_of(*found, [](const Change& one) { return eroica::to_json(one); })}});
}

HttpResponse add_change(const ApiCall& call) {
  Result<Change> change = parse_change(call.request->body, call.service->now());
  if (!change) return failed(change.error());
  change->tenant = call.caller->tenant;
  if (change->who.empty()) change->who = call.caller->name;
  const Result<Change> added = call.service->add_change(std::move(*change));
  return added ? answered(eroica::to_json(*added), 201) : failed(added.error());
}

HttpResponse report(const ApiCall& call) {
  const auto times = period(call);
  const std::string format = query(call, "format");
  if (!times || (!format.empty() && format != "json" && format != "csv")) {
    return api_problem(400, "'from_unix_ns' and 'to_unix_ns' must be whole numbers, 'format' json or csv");
  }
  const Result<PeriodReport> made = call.service->report(tenant_asked(call), times->first, times->second);
  if (!made) return failed(made.error());
  if (format == "csv") return {200, "text/csv; charset=utf-8", report_csv(*made), {}, false, ""};
  return answered(eroica::to_json(*made));
}

// -- policies

std::string own_tenant(const ApiCall& call) { return tenant_asked(call).value_or(""); }

HttpResponse policy(const ApiCall& call) {
  const Result<std::optional<StoredPolicy>> stored = call.service->policy(own_tenant(call));
  if (!stored) return failed(stored.error());
  if (!*stored)
    return answered({{"toml", call.policies->standard}, {"is_default", true}, {"who", nullptr}, {"unix_ns", nullptr}});
  return answered(
      {{"toml", (*stored)->toml}, {"is_default", false}, {"who", (*stored)->who}, {"unix_ns", (*stored)->unix_ns}});
}

/// The policy in the body.
Result<std::string> toml_in(const Json& body) {
  if (body.is_object() && body.contains("toml") && body["toml"].is_string()) return body["toml"].get<std::string>();
  return Error{Error::Kind::kInvalid, "expected an object of JSON with a text 'toml'"};
}

HttpResponse set_policy(const ApiCall& call) {
  const Result<std::string> toml = toml_in(body_of(call));
  if (!toml) return failed(toml.error());
  const std::vector<std::string> problems = call.policies->check(*toml);
  if (!problems.empty()) return answered({{"error", "the policy has problems"}, {"problems", problems}}, 422);
  const StoredPolicy stored{*toml, call.caller->name, call.service->now()};
  if (Status set = call.service->set_policy(own_tenant(call), stored); !set) return failed(set.error());
  return answered({{"toml", stored.toml}, {"is_default", false}, {"who", stored.who}, {"unix_ns", stored.unix_ns}});
}

HttpResponse check_policy(const ApiCall& call) {
  const Result<std::string> toml = toml_in(body_of(call));
  if (!toml) return failed(toml.error());
  return answered({{"problems", call.policies->check(*toml)}});
}

HttpResponse replay_policy(const ApiCall& call) {
  const Json body = body_of(call);
  const Result<std::string> toml = toml_in(body);
  if (!toml) return failed(toml.error());
  if (!body.contains("steps")) return api_problem(400, "'steps' must be recorded steps: {\"step_seconds\": [...]}");
  const std::vector<std::string> problems = call.policies->check(*toml);
  if (!problems.empty()) return answered({{"error", "the policy has problems"}, {"problems", problems}}, 422);
  Result<std::string> replayed = call.policies->replay(*toml, text_of(body["steps"]));
  if (!replayed) {
    const bool is_busy = replayed.error().kind == Error::Kind::kWrite;
    return is_busy ? failed(replayed.error()) : api_problem(400, replayed.error().message);
  }
  return {200, "application/json", std::move(*replayed), {}, false, ""};
}

constexpr std::array kRoutes = {
    ApiRoute{.method = "GET", .path = "/", .is_public = true, .answer = page},
    ApiRoute{.method = "GET", .path = "/healthz", .is_public = true, .answer = healthz},
    ApiRoute{.method = "GET", .path = "/metrics", .answer = metrics},
    ApiRoute{.method = "GET", .path = "/api/v1/jobs", .answer = jobs},
    ApiRoute{.method = "GET", .path = "/api/v1/jobs/{job}", .answer = job},
    ApiRoute{.method = "GET", .path = "/api/v1/jobs/{job}/diagnoses", .answer = job_diagnoses},
    ApiRoute{.method = "POST",
             .path = "/api/v1/jobs/{job}/trigger",
             .role = Role::kOperator,
             .is_audited = true,
             .most_body_bytes = kSmallBody,
             .answer = trigger},
    ApiRoute{.method = "GET", .path = "/api/v1/incidents", .answer = incidents},
    ApiRoute{.method = "GET", .path = "/api/v1/incidents/{id}", .is_audited = true, .answer = incident},
    ApiRoute{
        .method = "GET", .path = "/api/v1/incidents/{id}/document", .is_audited = true, .answer = incident_document},
    ApiRoute{.method = "POST",
             .path = "/api/v1/incidents/{id}/feedback",
             .role = Role::kOperator,
             .is_audited = true,
             .most_body_bytes = kSmallBody,
             .answer = add_feedback},
    ApiRoute{.method = "GET", .path = "/api/v1/diagnoses/{id}", .is_audited = true, .answer = diagnosis},
    ApiRoute{.method = "GET", .path = "/api/v1/changes", .answer = changes},
    ApiRoute{.method = "POST",
             .path = "/api/v1/changes",
             .role = Role::kOperator,
             .is_audited = true,
             .most_body_bytes = kSmallBody,
             .answer = add_change},
    ApiRoute{.method = "GET", .path = "/api/v1/report", .answer = report},
    ApiRoute{.method = "GET", .path = "/api/v1/policy", .answer = policy, .for_agents = true},
    ApiRoute{.method = "PUT",
             .path = "/api/v1/policy",
             .role = Role::kAdmin,
             .is_audited = true,
             .most_body_bytes = size_t{1} << 20,
             .answer = set_policy},
    ApiRoute{
        .method = "POST", .path = "/api/v1/policy/check", .most_body_bytes = size_t{1} << 20, .answer = check_policy},
    ApiRoute{.method = "POST",
             .path = "/api/v1/policy/replay",
             .role = Role::kOperator,
             .most_body_bytes = kStepsBody,
             .answer = replay_policy},
    ApiRoute{.method = "GET", .path = "/api/v1/audit", .role = Role::kAdmin, .answer = audit},
    ApiRoute{.method = "GET", .path = "/api/v1/events", .answer = events},
    ApiRoute{.method = "POST",
             .path = "/api/v1/observations",
             .role = Role::kAgent,
             .most_body_bytes = kObservationsBody,
             .answer = observations},
};

}  // namespace

std::span<const ApiRoute> api_routes() { return kRoutes; }

HttpResponse api_problem(int status, std::string_view why) { return answered({{"error", why}}, status); }

}  // namespace eroica
