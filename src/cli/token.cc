#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/clocks.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/serve.h"
#include "cli/text_or_json.h"
#include "store/store.h"
#include "web/access.h"
#include "web/secret.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTokenBytes = 24;
constexpr double kDayNs = 86'400e9;

constexpr const char* kExamples =
    "Who may ask 'eroica serve', and what: it needs no restart. The store has a hash of each token only.\n"
    "Roles: agent (tells of jobs, nothing else), viewer (reads), operator (also says what was changed, judges, asks "
    "for\n"
    "windows), admin (also policies and the audit log). A token of a tenant sees that tenant's jobs alone.\n"
    "\n"
    "Examples:\n"
    "  eroica token add --role agent --tenant vision hosts > /etc/eroica/token\n"
    "  eroica token list\n"
    "  eroica token remove hosts\n"
    "\n"
    "Exit status: 0 done, 2 the store cannot be used or there is no such token, 64 wrong usage.";

bool is_name(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '@';
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, plain);
}

CLI::Validator name_check() {
  const auto check = [](const std::string& text) -> std::string {
    return is_name(text) ? "" : "expected at most 64 letters, digits and any of -_.@";
  };
  return {check, ""};
}

int add(const TokenOptions& options, Store& store, Log& log) {
  const std::string secret = "eroica-" + random_hex(kTokenBytes);
  const int64_t now_ns = unix_ns();
  const int64_t ends_ns = options.days > 0 ? now_ns + static_cast<int64_t>(options.days * kDayNs) : 0;
  const Result<std::vector<StoredToken>> known = store.tokens();
  if (known && std::ranges::find(*known, options.name, &StoredToken::name) != known->end()) {
    log.error(fmt::format("there is a token {} already", options.name));
    return kExitNoInput;
  }
  if (Status added = store.add_token({sha256_hex(secret), options.name, options.role, options.tenant, now_ns, ends_ns});
      !added) {
    log.error(added.error().message);
    return kExitNoInput;
  }
  return print(secret + "\n", log);
}

int list(const TokenOptions& options, Store& store, Log& log) {
  const Result<std::vector<StoredToken>> tokens = store.tokens();
  if (!tokens) {
    log.error(tokens.error().message);
    return kExitNoInput;
  }
  if (options.json) {
    Json all = Json::array();
    for (const StoredToken& token : *tokens) {
      all.push_back({{"name", token.name},
                     {"role", token.role},
                     {"tenant", token.tenant},
                     {"made_unix_ns", token.made_unix_ns},
                     {"ends_unix_ns", token.ends_unix_ns > 0 ? Json(token.ends_unix_ns) : Json()}});
    }
    return print(Json{{"tokens", std::move(all)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", log);
  }
  std::string text = tokens->empty() ? "no tokens\n" : "";
  for (const StoredToken& token : *tokens) {
    const bool over = token.ends_unix_ns > 0 && token.ends_unix_ns <= unix_ns();
    text +=
        fmt::format("{:<24} {:<9} {}{}\n", token.name, token.role,
                    token.tenant.empty() ? "all tenants" : "tenant " + token.tenant, over ? ", its time is over" : "");
  }
  return print(text, log);
}

}  // namespace

CLI::App* add_token(CLI::App& app, TokenOptions& options) {
  using Verb = TokenOptions::Verb;
  CLI::App* command = app.add_subcommand("token", "Say who may ask 'eroica serve'");
  command->footer(kExamples);
  command->require_subcommand(1);
  const auto verb = [&](const char* name, const char* about, Verb chosen) {
    CLI::App* sub = command->add_subcommand(name, about);
    sub->add_option("--store", options.store, "The server's file; default: ~/.local/share/eroica/eroica.db")
        ->type_name("FILE");
    sub->callback([&options, chosen] { options.verb = chosen; });
    return sub;
  };
  CLI::App* adding = verb("add", "Make a token and print it; it is never shown again", Verb::kAdd);
  adding->add_option("NAME", options.name, "Whose it is; seen in the audit log")->required()->check(name_check());
  adding->add_option("--role", options.role, "agent, viewer (default), operator or admin")
      ->type_name("ROLE")
      ->check([](const std::string& role) -> std::string {
        return role_named(role) ? "" : "expected agent, viewer, operator or admin";
      });
  adding->add_option("--tenant", options.tenant, "Sees the jobs of this one only; default: all")
      ->type_name("NAME")
      ->check(name_check());
  adding->add_option("--days", options.days, "How long it holds; default: until it is removed")
      ->type_name("N")
      ->check(CLI::Range(0.001, 36500.0));
  CLI::App* listing = verb("list", "Tokens' names, roles and tenants", Verb::kList);
  add_json_format(listing, options.json);
  CLI::App* removing = verb("remove", "Take a token back", Verb::kRemove);
  removing->add_option("NAME", options.name, "Which")->required();
  return command;
}

int run_token(const TokenOptions& options, Log& log) {
  Result<std::unique_ptr<Store>> store = Store::open(options.store.empty() ? default_store() : options.store, false);
  if (!store) {
    log.error(store.error().message);
    return kExitNoInput;
  }
  if (options.verb == TokenOptions::Verb::kAdd) return add(options, **store, log);
  if (options.verb == TokenOptions::Verb::kList) return list(options, **store, log);
  const Result<bool> removed = (*store)->remove_token(options.name);
  if (!removed || !*removed) {
    log.error(removed ? fmt::format("there is no token {}", options.name) : removed.error().message);
    return kExitNoInput;
  }
  return 0;
}

}  // namespace eroica
