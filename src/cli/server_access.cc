#include "cli/server_access.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "agent/host_name.h"
#include "cli/text_file.h"

namespace eroica {

void add_server_options(CLI::App* command, ServerAccess& access) {
  command->add_option("--server", access.url, "The server, http://HOST:PORT")
      ->type_name("URL")
      ->envname("EROICA_SERVER")
      ->group("Server");
  CLI::Option* token = command->add_option("--token", access.token, "The token that it knows; others see it in ps")
                           ->type_name("TOKEN")
                           ->envname("EROICA_TOKEN")
                           ->group("Server");
  command->add_option("--token-file", access.token_file, "The file that the token stands in")
      ->type_name("FILE")
      ->excludes(token)
      ->group("Server");
}

std::string made_up_job(std::string_view what, const ProcessMark& owner) {
  std::string id = fmt::format("{}-{}-{}-{}", what, this_host(), owner.pid, owner.start_ticks);
  return is_job_id(id) ? id : fmt::format("{}-{}-{}", what, owner.pid, owner.start_ticks);
}

Result<KnownServer> known_server(const ServerAccess& access) {
  if (access.url.empty()) {
    return Error{Error::Kind::kInvalid, "which server? --server http://HOST:PORT, or EROICA_SERVER"};
  }
  const Result<ServerUrl> url = parse_server_url(access.url);
  if (!url) return url.error();
  KnownServer server{*url, access.token};
  if (!access.token_file.empty()) {
    const Result<std::string> text = read_text_file(access.token_file, 1024);
    if (!text) return text.error();
    server.token = text->substr(0, text->find_first_of(" \r\n\t"));
    if (server.token.empty()) return Error{Error::Kind::kInvalid, access.token_file + ": there is no token in it"};
  }
  for (const char c : server.token) {
    if (c <= ' ' || c >= 0x7f) return Error{Error::Kind::kInvalid, "a token has printable characters only"};
  }
  return server;
}

}  // namespace eroica
