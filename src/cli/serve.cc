#include "cli/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "cli/job_setup.h"
#include "cli/live_report.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/policy.h"
#include "cli/policy_file.h"
#include "cli/policy_replay.h"
#include "cli/signal_set.h"
#include "cli/step_records_file.h"
#include "cli/text_file.h"
#include "store/store.h"
#include "web/api.h"
#include "web/courier.h"
#include "web/http_server.h"
#include "web/service.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr time_t kTickS = 2;
constexpr double kMostLooks = 1e7;
constexpr rlim_t kReservedFiles = 64;  // of the store, of webhooks, …
constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;

constexpr const char* kExamples =
    "Takes what 'eroica run' and 'eroica agent' tell of their jobs, keeps incidents, and answers people and machines\n"
    "over HTTP (docs/service.md, docs/openapi.json).\n"
    "\n"
    "Examples:\n"
    "  eroica serve                                    for this machine alone, http://127.0.0.1:7430\n"
    "  eroica token add --role admin me                prints a token; from then on everybody needs one\n"
    "  eroica token add --role agent --tenant vision hosts\n"
    "  eroica serve --listen 0.0.0.0:7430 --store /var/lib/eroica/eroica.db\n"
    "\n"
    "Exit status: 0 ended by SIGTERM or SIGINT, 2 the store cannot be used, 64 wrong usage, 74 it cannot listen.";

struct Endpoint {
  std::string address;
  uint16_t port = 0;
};

/// "ADDRESS:PORT" or "[ADDRESS]:PORT".
std::optional<Endpoint> endpoint_of(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (address == "localhost") address = "127.0.0.1";
  Endpoint endpoint{std::string(address), 0};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, endpoint.port);
  if (error != std::errc() || stop != end) return std::nullopt;
  return endpoint;
}

/// Two servers on one file would each know half.
Result<Descriptor> lock_store(const std::string& store) {
  const std::string path = store + ".lock";
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.number() < 0) return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(errno))};
  if (flock(lock.number(), LOCK_EX | LOCK_NB) == 0) return lock;
  return Error{Error::Kind::kWrite, fmt::format("{}: another 'eroica serve' uses it", store)};
}

/// What fails shows when the file is made.
void make_folder_of(const std::string& path) {
  std::error_code error;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, error);
}

PolicyTools policy_tools() {
  PolicyTools tools;
  tools.standard = policy_toml(Policy{});
  tools.check = [](const std::string& toml) {
    std::vector<std::string> problems;
    for (const FileProblem& problem : parse_policy(toml, "policy").problems) problems.push_back(in_words(problem));
    return problems;
  };
  tools.replay = [busy = std::make_shared<std::mutex>()](const std::string& toml,
                                                         const std::string& steps) -> Result<std::string> {
    const std::unique_lock only(*busy, std::try_to_lock);
    if (!only) return Error{Error::Kind::kWrite, "another replay is under way; try again"};
    const Result<RecordedSteps> recorded = parse_recorded_steps(steps, "steps");
    if (!recorded) return recorded.error();
    if (recorded->arrivals.empty()) return Error{Error::Kind::kInvalid, "there are no steps in it"};
    if (replay_looks(*recorded) > kMostLooks) {
      return Error{Error::Kind::kInvalid,
                   "the steps last too long to be replayed here; 'eroica policy replay' takes them"};
    }
    return replay_json(replay(*recorded, "steps", parse_policy(toml, "policy").policy));
  };
  return tools;
}

CLI::Validator http_address() {
  const auto check = [](const std::string& url) -> std::string {
    const Result<TargetUrl> parsed = parse_target_url(url);
    return parsed ? "" : parsed.error().message;
  };
  return {check, ""};
}

/// What stands in the first line of a file.
Result<std::string> secret_in(const std::string& path) {
  if (path.empty()) return std::string();
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  std::string secret = text->substr(0, text->find_first_of("\r\n"));
  if (secret.empty()) return Error{Error::Kind::kInvalid, path + ": there is no secret in it"};
  return secret;
}

/// Of the files that this process may open each connection is one; some are left for all else.
void fit_connections(HttpServerOptions& http) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= http.most_connections + kReservedFiles) return;
  http.most_connections = std::max<rlim_t>(files.rlim_cur, 2 * kReservedFiles) - kReservedFiles;
  http.most_streams = std::min(http.most_streams, http.most_connections / 2);
}

void until_signalled(Service& service) {
  const sigset_t signals = signal_set({SIGTERM, SIGINT});
  while (true) {
    const timespec wait{kTickS, 0};
    if (sigtimedwait(&signals, nullptr, &wait) > 0) return;
    service.tick();
  }
}

}  // namespace

std::string default_store() {
  if (const std::string data = environment_text("XDG_DATA_HOME"); data.starts_with('/'))
    return data + "/eroica/eroica.db";
  const std::string home = environment_text("HOME");
  return home.empty() ? "eroica.db" : home + "/.local/share/eroica/eroica.db";
}

CLI::App* add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App* command = app.add_subcommand("serve", "Keep the incidents of many hosts' jobs, and answer over HTTP");
  command->add_option("--listen", options.listen, "Where to listen; default: " + options.listen)
      ->type_name("ADDRESS:PORT");
  command
      ->add_option("--store", options.store, "The file that all is kept in; default: ~/.local/share/eroica/eroica.db")
      ->type_name("FILE");
  command->add_option("--keep-days", options.keep_days, "Forget what is older; default: 90")
      ->type_name("N")
      ->check(CLI::Range(0.01, 36500.0));
  command->add_option("--keep-gib", options.keep_gib, "Forget the oldest diagnoses beyond this size; default: 4")
      ->type_name("N")
      ->check(CLI::Range(0.001, 65536.0));
  command
      ->add_option("--webhook", options.webhooks,
                   "Send what happens to incidents to this http:// address; may be repeated")
      ->type_name("URL")
      ->allow_extra_args(false)
      ->check(http_address());
  command
      ->add_option("--webhook-secret-file", options.webhook_secret_file, "Sign webhooks with what stands in this file")
      ->type_name("FILE");
  command->add_option("--alertmanager", options.alertmanager, "Keep this Alertmanager told of open incidents")
      ->type_name("URL")
      ->check(http_address());
  command->footer(kExamples);
  return command;
}

int run_serve(const ServeOptions& options, Log& log) {
  const std::optional<Endpoint> endpoint = endpoint_of(options.listen);
  if (!endpoint) {
    log.error(options.listen + ": expected ADDRESS:PORT to listen on");
    return kExitUsage;
  }
  const std::string path = options.store.empty() ? default_store() : options.store;
  const Result<std::string> secret = secret_in(options.webhook_secret_file);
  if (!secret) {
    log.error(secret.error().message);
    return kExitUsage;
  }
  make_folder_of(path);
  const Result<Descriptor> lock = lock_store(path);  // longer than the store is open
  if (!lock) {
    log.error(lock.error().message);
    return kExitNoInput;
  }
  Result<std::unique_ptr<Store>> store = Store::open(path);
  if (!store) {
    log.error(store.error().message);
    return kExitNoInput;
  }
  ServiceOptions service_options;
  service_options.retention.most_age_ns = static_cast<int64_t>(options.keep_days * static_cast<double>(kDayNs));
  service_options.retention.most_bytes = static_cast<int64_t>(options.keep_gib * 1073741824.0);
  service_options.webhooks = options.webhooks;
  HttpServer* server = nullptr;
  Result<std::unique_ptr<Service>> service =
      Service::make(std::move(*store), service_options, unix_ns, [&server](const ServiceEvent& event) {
        if (server != nullptr)
          server->publish(event.tenant, fmt::format("event: {}\ndata: {}\n\n", event.name, event.data));
      });
  if (!service) {
    log.error(service.error().message);
    return kExitNoInput;
  }
  if (!(*service)->needs_token() && !is_loopback(endpoint->address)) {
    log.error(fmt::format("{}: without tokens only this machine may be listened to; 'eroica token add' makes one",
                          options.listen));
    return kExitUsage;
  }
  const sigset_t ending = signal_set({SIGTERM, SIGINT});
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  Api api(**service, policy_tools(), endpoint->address);
  HttpServerOptions http;
  http.address = endpoint->address;
  http.port = endpoint->port;
  fit_connections(http);
  Result<std::unique_ptr<HttpServer>> made = HttpServer::make(
      http, [&api](const HttpRequest& head, size_t& most) { return api.admit(head, most); },
      [&api](const HttpRequest& request) { return api.answer(request); });
  if (!made) {
    log.error(made.error().message);
    return made.error().kind == Error::Kind::kInvalid ? kExitUsage : kExitNoOutput;
  }
  server = made->get();
  server->start();
  const bool is_v6 = endpoint->address.find(':') != std::string::npos;
  say(fmt::format("serving http://{}{}{}:{}, kept in {}", is_v6 ? "[" : "", endpoint->address, is_v6 ? "]" : "",
                  server->port(), path));
  if (!(*service)->needs_token()) say("there are no tokens: everybody on this machine may read and change everything");
  CourierOptions courier_options;
  courier_options.secret = *secret;
  courier_options.alertmanager = options.alertmanager;
  Courier courier(**service, std::move(courier_options), http_call, say);
  courier.start();
  until_signalled(**service);
  courier.stop();
  server->stop();
  return 0;
}

}  // namespace eroica
