#include "cli/watch_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/host_name.h"
#include "agent/json_member.h"
#include "cli/executor.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/policy_file.h"
#include "cli/policy_load.h"
#include "cli/rules_source.h"
#include "cli/server_access.h"
#include "cli/service_link.h"
#include "cli/watched_job.h"

namespace eroica {
namespace {

constexpr std::chrono::milliseconds kPolicyTime{3000};

std::optional<std::string> toml_of_answer(const std::string& body) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  std::string toml = text(json, "toml");
  return toml.empty() ? std::nullopt : std::optional(std::move(toml));
}

}  // namespace

void add_watch_options(CLI::App* command, WatchCommand& options, const char* keep) {
  command->add_option("--policy", options.policy, "When to speak up and to profile; a file, default or eroica")
      ->type_name("POLICY");
  command->add_flag("--watch-only", options.watch_only, "Never profile");
  add_window_option(command, options.window_s);
  command->add_option("--json", options.json, "Append each diagnosis to this file, one line each")->type_name("FILE");
  command->add_option("--keep", options.keep, keep)->type_name("DIR");
  add_server_options(command, options.server);
}

std::optional<ServiceLinkOptions> link_of(const WatchCommand& options) {
  const Result<KnownServer> server = known_server(options.server);
  if (!server) return std::nullopt;
  ServiceLinkOptions link;
  link.server = *server;
  const std::string host = this_host();
  link.host = host.empty() ? "localhost" : host;
  return link;
}

namespace {

/// The policy that the server has for us; where it gives none, the default one, and why is said.
Policy policy_of_server(const KnownServer& server) {
  HttpCall call;
  call.target = "/api/v1/policy";
  call.token = server.token;
  call.time = kPolicyTime;
  const Result<HttpAnswer> answer = http_call(server.url, call);
  const std::optional<std::string> toml = answer && answer->status == 200 ? toml_of_answer(answer->body) : std::nullopt;
  if (toml) return parse_policy(*toml, "the server's policy").policy;
  say(fmt::format("the server gives no policy ({}); the default one is used",
                  answer ? fmt::format("it answers {}", answer->status) : answer.error().message));
  return {};
}

}  // namespace

int prepare_watch(const WatchCommand& options, WatchedJobOptions& watch, Log& log) {
  Result<Policy> policy = load_policy(options.policy, log);
  if (!policy) {
    log.error(policy.error().message);
    return kExitUsage;
  }
  if (!options.server.url.empty()) {
    const Result<KnownServer> server = known_server(options.server);
    if (!server) {
      log.error(server.error().message);
      return kExitUsage;
    }
    if (options.policy.empty()) policy = policy_of_server(*server);
  }
  Result<RuleSet> rules = load_rules({});
  if (!rules) {
    log.error(rules.error().message);
    return kExitNoOutput;
  }
  watch.policy = *policy;
  watch.watch_only = options.watch_only;
  watch.window_s = options.window_s;
  watch.report.keep = options.keep;
  watch.report.rules = std::move(*rules);
  watch.report.threads = std::max<size_t>(1, available_cores() / 2);
  return 0;
}

}  // namespace eroica
