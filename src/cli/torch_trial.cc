#include "cli/torch_trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/datagram_socket.h"
#include "agent/fabric.h"
#include "agent/job_folder.h"
#include "base/clocks.h"
#include "cli/job_setup.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kImportNs = 120 * kSecondNs;
constexpr int64_t kAnswersNs = 8 * kSecondNs;  // Kineto's first question comes within a second or so of the import
constexpr int64_t kEndingNs = 5 * kSecondNs;
constexpr size_t kMostSaid = 4000;
constexpr size_t kMostFabricBytes = 4096;

constexpr const char* kProgram =
    "import sys\n"
    "try:\n"
    "    import torch, torch.optim, torch.distributed\n"
    "except BaseException as error:\n"
    "    print('failed: %s: %s' % (type(error).__name__, error))\n"
    "else:\n"
    "    print('torch ' + torch.__version__, flush=True)\n"
    "    sys.stdin.read()\n";

struct Child {
  pid_t pid = -1;
  int in = -1;
  int out = -1;
};

void close_if(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

/// 0, or the errno.
int start(const std::string& python, const std::vector<std::pair<std::string, std::string>>& variables, Child& child) {
  std::array<int, 2> in{-1, -1};
  std::array<int, 2> out{-1, -1};
  if (pipe2(in.data(), O_CLOEXEC) != 0) return errno;
  if (pipe2(out.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    const int error = errno;
    for (int& end : in) close_if(end);
    return error;
  }
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    const bool is_set = std::ranges::any_of(variables, [&](const auto& variable) { return variable.first == name; });
    const bool is_of_a_rank =
        name == "RANK" || name == "WORLD_SIZE" || name == "LOCAL_RANK" || name == "EROICA_DISABLE";
    if (!is_set && !is_of_a_rank) environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : variables) environment.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> pointers;
  pointers.reserve(environment.size() + 1);
  for (std::string& entry : environment) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  std::string name = python;
  std::string option = "-c";
  std::string program = kProgram;
  std::array<char*, 4> arguments = {name.data(), option.data(), program.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in[0], 0);
  posix_spawn_file_actions_adddup2(&files, out[1], 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  const int error = posix_spawnp(&child.pid, python.c_str(), &files, nullptr, arguments.data(), pointers.data());
  posix_spawn_file_actions_destroy(&files);
  close(in[0]);
  close(out[1]);
  child.in = in[1];
  child.out = out[0];
  return error;
}

/// The child ends when its input does; if not, it is killed.
void end(Child& child) {
  close_if(child.in);
  const int64_t deadline_ns = monotonic_ns() + kEndingNs;
  while (waitpid(child.pid, nullptr, WNOHANG) == 0) {
    if (monotonic_ns() > deadline_ns) kill(child.pid, SIGKILL);
    poll(nullptr, 0, 50);
  }
  close_if(child.out);
}

class Trial {
 public:
  Trial(Child& child, DatagramSocket& probes, DatagramSocket& kineto)
      : child_(child), probes_(probes), kineto_(kineto), began_ns_(monotonic_ns()) {}

  TorchTrial run() {
    int64_t imported_ns = 0;
    while (!over_) {
      std::array<pollfd, 3> waits = {pollfd{child_.out, POLLIN, 0}, pollfd{probes_.fd(), POLLIN, 0},
                                     pollfd{kineto_.fd(), POLLIN, 0}};
      poll(waits.data(), waits.size(), 200);
      if (waits[0].revents != 0) hear_child();
      hear_probe();
      hear_kineto(imported_ns);
      const int64_t now_ns = monotonic_ns();
      if (imported_ns == 0 && !result_.torch.empty()) imported_ns = now_ns;
      if (imported_ns > 0 && ((result_.hello && result_.kineto_asked) || now_ns - imported_ns > kAnswersNs)) break;
      if (imported_ns == 0 && now_ns - began_ns_ > kImportNs) {
        result_.problem = fmt::format("torch was not imported within {} s", kImportNs / kSecondNs);
        break;
      }
    }
    return std::move(result_);
  }

 private:
  void hear_child() {
    std::array<char, 1024> bytes{};
    const ssize_t size = read(child_.out, bytes.data(), bytes.size());
    if (size < 0) return;
    if (size > 0 && said_.size() < kMostSaid) said_.append(bytes.data(), static_cast<size_t>(size));
    // Other lines are what the job's own start-up says.
    for (size_t begin = 0, end = 0; (end = said_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      hear_line(std::string_view(said_).substr(begin, end - begin));
    }
    if (size > 0) return;
    over_ = true;
    if (result_.torch.empty() && result_.problem.empty()) result_.problem = "it ended without a word";
  }

  void hear_line(std::string_view line) {
    constexpr std::string_view kTorch = "torch ";
    constexpr std::string_view kFailed = "failed: ";
    if (line.starts_with(kTorch)) {
      result_.torch = line.substr(kTorch.size());
    } else if (line.starts_with(kFailed)) {
      result_.problem = line.substr(kFailed.size());
      over_ = true;
    }
  }

  void hear_probe() {
    Datagram from;
    while (probes_.receive(from)) {
      if (from.pid != child_.pid) continue;
      std::optional<ProbeMessage> message = decode_probe(from.bytes);
      if (message && std::holds_alternative<HelloMessage>(*message)) result_.hello = std::get<HelloMessage>(*message);
    }
  }

  void hear_kineto(int64_t imported_ns) {
    Datagram from;
    while (kineto_.receive(from)) {
      const std::optional<FabricRequest> request = decode_fabric(from.bytes);
      if (from.pid != child_.pid || !request) continue;
      const bool is_context = request->kind == FabricRequest::Kind::kContext;
      (void)kineto_.send(from.sender, is_context ? encode_instance_count(1) : encode_configuration(""));
      if (!result_.kineto_asked && imported_ns > 0) {
        result_.kineto_s = static_cast<double>(monotonic_ns() - imported_ns) * 1e-9;
      }
      result_.kineto_asked = true;
    }
  }

  Child& child_;
  DatagramSocket& probes_;
  DatagramSocket& kineto_;
  int64_t began_ns_;
  std::string said_;
  bool over_ = false;
  TorchTrial result_;
};

TorchTrial failed(const std::string& problem) {
  TorchTrial trial;
  trial.problem = problem;
  return trial;
}

}  // namespace

TorchTrial try_torch(const std::string& python, const std::string& probe) {
  const JobNote note{fmt::format("doctor-{}", getpid()), true, mark_of(getpid())};
  const Result<JobFolder> folder = JobFolder::make(job_bases(process_environment()), note, kineto_config_for_job());
  if (!folder) return failed(folder.error().message);
  Result<DatagramSocket> probes = DatagramSocket::bind(folder->probe_socket(), kMostProbeBytes);
  Result<DatagramSocket> kineto = DatagramSocket::bind(folder->kineto_socket(), kMostFabricBytes);
  if (!probes || !kineto) return failed(!probes ? probes.error().message : kineto.error().message);
  const JobVariables variables{note.job, folder->sockets(), folder->traces(), folder->kineto_config(), probe, true};
  Child child;
  if (const int error = start(python, job_environment(variables, process_environment()), child); error != 0) {
    close_if(child.in);
    close_if(child.out);
    return failed(fmt::format("{}: {}", python, std::strerror(error)));
  }
  TorchTrial result = Trial(child, *probes, *kineto).run();
  end(child);
  return result;
}

std::vector<Check> checks_of(const TorchTrial& trial, const std::string& python, const std::string& probe) {
  using State = CheckState;
  std::vector<Check> checks;
  if (!trial.problem.empty()) {
    return {{"torch", State::kMissing, fmt::format("{}: {}", python, trial.problem), "no job of this Python is watched",
             "name the Python of the jobs with --python"}};
  }
  checks.push_back({"torch", State::kOk, fmt::format("{} in {}", trial.torch, python), "", ""});
  if (!trial.hello) {
    checks.push_back({"probe", State::kMissing, probe.empty() ? "it is not found" : probe + " was not heard",
                      "no job of this Python is watched",
                      probe.empty() ? "name its folder with --probe"
                                    : "python -S, -E and -I keep it out; else: PYTHONPATH=" + probe +
                                          "/site and 'import sitecustomize' say why"});
  } else {
    const HelloMessage& hello = *trial.hello;
    checks.push_back({"probe", State::kOk, fmt::format("heard from Python {}", hello.python), "", ""});
    checks.push_back(hello.step_hook ? Check{"step_hook", State::kOk, "steps of any optimizer are told", "", ""}
                                     : Check{"step_hook", State::kMissing, "this torch tells of no steps",
                                             "neither slow nor blocked jobs are found", "torch 2.0 or newer"});
    checks.push_back(hello.flight_recorder
                         ? Check{"flight_recorder", State::kOk, "collectives under way are told", "", ""}
                         : Check{"flight_recorder", State::kLimited, "this torch has none that can be read",
                                 "in a job that stands still, ranks are told by their stacks alone",
                                 "torch 2.5 or newer, with distributed"});
  }
  if (trial.kineto_asked) {
    checks.push_back({"kineto_daemon", State::kOk,
                      fmt::format("Kineto asked for work {:.1f} s after the import", trial.kineto_s), "", ""});
  } else {
    const bool inside = trial.hello && trial.hello->profile;
    checks.push_back({"kineto_daemon", inside ? State::kLimited : State::kMissing,
                      "Kineto in this torch asks no daemon",
                      inside ? "windows are taken by torch.profiler inside the job: the training thread alone, and "
                               "starting it takes longer"
                             : "nothing is profiled",
                      "torch 2.0 or newer, built with Kineto (pip's wheels are)"});
  }
  return checks;
}

}  // namespace eroica
