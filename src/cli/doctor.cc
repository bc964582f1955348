#include "cli/doctor.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "agent/host_checks.h"
#include "agent/job_folder.h"
#include "agent/stack_sampler.h"
#include "cli/job_setup.h"
#include "cli/logging.h"
#include "cli/options.h"
#include "cli/rule_signals.h"
#include "cli/text_or_json.h"
#include "cli/torch_trial.h"
#include "diagnose/standard_rules.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples =
    "Tries what eroica needs of this host and of the jobs' Python, and says for each thing that does not work what "
    "you\n"
    "go without and what would help. Run it where the jobs run: as the same user, in the same container.\n"
    "\n"
    "Examples:\n"
    "  eroica doctor --python venv/bin/python3\n"
    "  eroica doctor --format json | jq '.checks[] | select(.state != \"ok\")'\n"
    "\n"
    "Exit status: 0 nothing is missing, 1 something is, 64 wrong usage.";

bool perf_works() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.context_switch = 1;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.exclude_kernel = 1;
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return false;
  close(fd);
  return true;
}

bool ptrace_works() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool works = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return works;
}

/// The first of them that can be loaded.
std::string loadable(std::initializer_list<const char*> libraries) {
  for (const char* library : libraries) {
    if (void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(handle);
      return library;
    }
  }
  return "";
}

DiskFacts disk_facts(const std::string& path) {
  DiskFacts facts;
  facts.path = path;
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0 || access(path.c_str(), W_OK | X_OK) != 0) {
    facts.error = errno;
    return facts;
  }
  facts.free_bytes = static_cast<uint64_t>(found.f_bavail) * static_cast<uint64_t>(found.f_bsize);
  facts.kind = static_cast<uint64_t>(found.f_type);
  return facts;
}

uint64_t limit(__rlimit_resource resource) {
  rlimit found{};
  return getrlimit(resource, &found) == 0 ? found.rlim_cur : RLIM_INFINITY;
}

/// Which of the signals that rules ask of can be read here.
Check check_signals() {
  const RuleSet rules = standard_rules();
  const SignalSupply supply = host_signal_supply();
  std::set<std::string> used;
  std::map<std::string, std::set<std::string>> lacking;  // by why
  std::vector<std::string> silent;
  for (const Rule& rule : rules.rules) {
    bool lacks = false;
    for (const RuleSignal& signal : signals_of(rule, supply)) {
      if (!signal.is_read || signal.state.kind == SignalState::Kind::kNothingThere) continue;
      used.insert(signal.metric);
      if (signal.state.why.empty()) continue;
      lacking[signal.state.why].insert(signal.metric);
      lacks = true;
    }
    if (lacks && !can_speak(rule, supply)) silent.push_back(rule.cause);
  }
  size_t count = 0;
  std::string reasons;
  for (const auto& [why, metrics] : lacking) {
    count += metrics.size();
    reasons += fmt::format("; not {} ({})", fmt::join(metrics, ", "), why);
  }
  const std::string found = fmt::format("{} of {} signals that rules ask of this hardware can be read{}",
                                        used.size() - count, used.size(), reasons);
  if (lacking.empty()) return {"signals", CheckState::kOk, found, "", ""};
  const std::string cost =
      silent.empty() ? "some diagnoses are less sure" : fmt::format("what cannot be said: {}", fmt::join(silent, ", "));
  return {"signals", CheckState::kLimited, found, cost, "'eroica rules list' says for each rule what it lacks"};
}

std::vector<Check> all_checks(const DoctorOptions& options) {
  const HostRoots roots;
  const bool is_root = geteuid() == 0;
  const std::string probe = find_probe(options.probe);
  const std::string base = job_bases(process_environment()).front();
  std::vector<Check> checks = checks_of(try_torch(options.python, probe), options.python, probe);
  checks.push_back(check_disk(disk_facts(base)));
  checks.push_back(check_limits({limit(RLIMIT_NOFILE), limit(RLIMIT_FSIZE), limit(RLIMIT_MEMLOCK)}));
  checks.push_back(check_socket_queue(roots));
  checks.push_back(check_ptrace(roots, ptrace_works(), is_root, find_py_spy(options.python)));
  checks.push_back(check_perf(roots, perf_works()));
  checks.push_back(check_cgroup(roots));
  checks.push_back(check_pressure(roots));
  checks.push_back(check_processes(roots, is_root));
  checks.push_back(check_clock(roots));
  checks.push_back(check_nvidia(roots, loadable({"libnvidia-ml.so.1"})));
  checks.push_back(check_amd(
      roots, loadable({"librocm_smi64.so.1", "librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so"})));
  checks.push_back(check_signals());
  return checks;
}

std::string as_text(const std::vector<Check>& checks) {
  std::string text;
  size_t bad = 0;
  for (const Check& check : checks) {
    text += fmt::format("{:<8} {:<16} {}\n", check_state_name(check.state), check.name, printable(check.found));
    if (check.state == CheckState::kOk) continue;
    ++bad;
    text += fmt::format("{:26}costs: {}\n", "", check.cost);
    text += fmt::format("{:26}remedy: {}\n", "", check.remedy);
  }
  const std::string answer =
      bad == 0 ? "everything works here\n" : fmt::format("{} of {} do not work, or not wholly\n", bad, checks.size());
  return answer + text;
}

Json as_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"state", check_state_name(check.state)},
                    {"found", check.found},
                    {"cost", check.cost},
                    {"remedy", check.remedy}});
  }
  return {{"checks", std::move(list)}};
}

}  // namespace

CLI::App* add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* command = app.add_subcommand("doctor", "Say what works on this host and what not, and what would help");
  command->add_option("--python", options.python, "The Python of the jobs; default: python3")->type_name("PYTHON");
  add_probe_option(command, options.probe);
  add_json_format(command, options.json);
  command->footer(kExamples);
  return command;
}

int run_doctor(const DoctorOptions& options, Log& log) {
  const std::vector<Check> checks = all_checks(options);
  const std::string text =
      options.json ? as_json(checks).dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : as_text(checks);
  const int status = print(text, log);
  const bool missing = std::ranges::any_of(checks, [](const Check& c) { return c.state == CheckState::kMissing; });
  return status != 0 ? status : missing ? 1 : 0;
}

}  // namespace eroica
