#include <clocale>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/commands.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/output.h"

namespace eroica {
namespace {

int leave(const Leave& leave) {
  std::fputs(printable(leave.err).c_str(), stderr);
  const Status status = write_stdout(leave.out);
  if (!status) std::fprintf(stderr, "eroica: error: %s\n", status.error().message.c_str());
  return status ? leave.status : kExitNoOutput;
}

LogLevel level(const InputOptions& options) {
  if (options.quiet) return LogLevel::kQuiet;
  return options.verbose ? LogLevel::kVerbose : LogLevel::kNormal;
}

struct Run {
  int operator()(const Leave& command) const { return leave(command); }
  int operator()(const AnalyzeOptions& command) const {
    Log log(level(command.input));
    return run_analyze(command, log);
  }
  int operator()(const SummarizeOptions& command) const {
    Log log(level(command.input));
    return run_summarize(command, log);
  }
  int operator()(const ExportOptions& command) const {
    Log log(level(command.input));
    return run_export(command, log);
  }
  int operator()(const RulesOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_rules(command, log);
  }
  int operator()(const PolicyOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_policy(command, log);
  }
  int operator()(const RunOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_run(command, log);
  }
  int operator()(const AgentOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_agent(command, log);
  }
  int operator()(const DoctorOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_doctor(command, log);
  }
  int operator()(const EnvOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_env(command, log);
  }
  int operator()(const StatusOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_status(command, log);
  }
  int operator()(const TriggerOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_trigger(command, log);
  }
  int operator()(const ServeOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_serve(command, log);
  }
  int operator()(const TokenOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_token(command, log);
  }
  int operator()(const ServerQuery& command) const {
    Log log(LogLevel::kNormal);
    return run_server_query(command, log);
  }
  int operator()(const SimulateOptions& command) const {
    Log log(LogLevel::kNormal);
    return run_simulate(command, log);
  }
};

}  // namespace
}  // namespace eroica

int main(int argc, char** argv) {
  eroica::prepare_standard_streams();
  (void)std::setlocale(LC_CTYPE, "");
  try {
    return std::visit(eroica::Run{}, eroica::parse_command_line(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("eroica: error: not enough memory; fewer --jobs may help\n", stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "eroica: error: %s\n", eroica::printable(failure.what()).c_str());
  }
  return eroica::kExitNoInput;
}
