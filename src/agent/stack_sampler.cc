#include "agent/stack_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "agent/own_file.h"
#include "agent/this_thread.h"
#include "base/clocks.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kStartUpNs = 1'500'000'000;  // it reads the symbols of all libraries first
constexpr int64_t kMostLateNs = 10 * kSecondNs;
constexpr int kKillTries = 200;
constexpr int kKillTryMs = 10;
constexpr int64_t kMostWords = 300;
constexpr int64_t kLookEveryNs = 50'000'000;
constexpr int kNice = 5;
constexpr const char* kRate = "100";  // a second

std::string program_in(const std::string& folder) {
  std::string path = folder + "/py-spy";
  return !folder.empty() && access(path.c_str(), X_OK) == 0 ? path : "";
}

/// The first line that says something, of what py-spy wrote to its standard error.
std::string complaint(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Error: ") || line.starts_with("Permission")) return line;
  }
  return text.empty() ? "it said nothing" : text.substr(0, text.find('\n'));
}

/// −1, and errno, when it cannot be.
pid_t spawn(const std::string& program, std::vector<std::string> arguments, const std::string& errors) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  errno = error;
  return error == 0 ? pid : -1;
}

}  // namespace

std::string program_of(pid_t pid) {
  std::ifstream command(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string program;
  std::getline(command, program, '\0');
  return program;
}

std::string find_py_spy(const std::string& python) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (std::string program = program_in(folder); !program.empty()) return program;
  }
  return python.starts_with('/') ? program_in(python.substr(0, python.rfind('/'))) : "";
}

StackSampler::StackSampler(std::string folder, const WindowPlan& plan, std::vector<Target> targets, int64_t most_bytes)
    : folder_(std::move(folder)),
      plan_(plan),
      most_bytes_(most_bytes),
      ranks_(none_begun(std::move(targets))),
      thread_([this] { run(); }) {}

std::vector<StackSampler::Sampled> StackSampler::none_begun(std::vector<Target> targets) {
  std::vector<Sampled> ranks;
  ranks.reserve(targets.size());
  for (Target& target : targets) ranks.push_back({std::move(target), -1, 0, ""});
  return ranks;
}

std::string StackSampler::path_of(const Sampled& sampled, const char* what) const {
  return fmt::format("{}/{}-{}", folder_, what, sampled.target.rank);
}

void StackSampler::begin(Sampled& sampled) const {
  const int64_t seconds = std::max<int64_t>((plan_.end_unix_ns - unix_ns()) / kSecondNs, 0) + 1;
  const std::string& program = sampled.target.py_spy;
  sampled.sampler = spawn(program,
                          {"py-spy", "record", "--pid", std::to_string(sampled.target.pid), "--rate", kRate,
                           "--duration", std::to_string(seconds), "--format", "chrometrace", "--function", "--threads",
                           "--idle", "--full-filenames", "--nonblocking", "--output", path_of(sampled, "py-spy")},
                          path_of(sampled, "py-spy-errors"));
  if (sampled.sampler < 0) sampled.why = fmt::format("{}: {}", program, std::strerror(errno));
  sampled.began_unix_ns = unix_ns();  // it counts its times from its start on
}

void StackSampler::look_after(Sampled& sampled, bool no_longer) const {
  if (sampled.sampler < 0) return;
  int status = 0;
  pid_t ended = waitpid(sampled.sampler, &status, WNOHANG);
  const bool is_late = no_longer && ended <= 0;
  if (is_late) {
    kill(sampled.sampler, SIGKILL);
    // One that hangs in the kernel, on pages of a file system that does not answer, is left behind.
    for (int i = 0; i < kKillTries && ended <= 0; ++i) {
      poll(nullptr, 0, kKillTryMs);
      ended = waitpid(sampled.sampler, &status, WNOHANG);
    }
  } else if (ended <= 0) {
    return;
  }
  sampled.sampler = -1;
  if (is_late) {
    sampled.why = "it did not end in time";
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    sampled.why = complaint(read_own_file(path_of(sampled, "py-spy-errors"), 0, kMostWords));
  }
}

void StackSampler::convert(Sampled& sampled) {
  const std::string raw = path_of(sampled, "py-spy");
  const int32_t rank = sampled.target.rank;
  if (sampled.why.empty()) {
    const std::optional<SampledStacks> stacks =
        sampled_stacks(read_own_file(raw, 0, most_bytes_), sampled.target.pid, sampled.began_unix_ns);
    const std::string name = fmt::format("stacks-{}.json", rank);
    const Status written = stacks ? write_own_file(fmt::format("{}/{}", folder_, name), stacks->json)
                                  : Error{Error::Kind::kInvalid, "what it wrote tells of no main thread"};
    if (written) {
      outcome_.files[rank] = name;
      note_cut(sampled, *stacks, file_size(raw));
    } else {
      sampled.why = written.error().message;
    }
  }
  unlink(raw.c_str());
  unlink(path_of(sampled, "py-spy-errors").c_str());
  if (sampled.why.empty()) return;
  outcome_.notes.push_back(
      fmt::format("rank {} was profiled without Python stacks: py-spy could not sample it: {}", rank, sampled.why));
}

void StackSampler::note_cut(const Sampled& sampled, const SampledStacks& stacks, int64_t bytes) {
  const int32_t rank = sampled.target.rank;
  if (stacks.cut) {
    outcome_.notes.push_back(
        fmt::format("rank {}: of the {:.1f} MB that py-spy wrote the first {:.1f} are read, so its Python stacks end "
                    "{:.1f} s before "
                    "the window",
                    rank, static_cast<double>(bytes) * 1e-6, static_cast<double>(std::min(bytes, most_bytes_)) * 1e-6,
                    static_cast<double>(std::max<int64_t>(plan_.end_unix_ns - stacks.last_unix_ns, 0)) * 1e-9));
  }
  if (stacks.left_out > 0) {
    outcome_.notes.push_back(
        fmt::format("rank {}: {} calls of its sampled Python stacks were left out: too many", rank, stacks.left_out));
  }
}

void StackSampler::run() {
  give_way(kNice);
  if (thread_.wait(plan_.start_unix_ns - kStartUpNs - unix_ns())) {
    for (Sampled& sampled : ranks_) begin(sampled);
  }
  const auto running = [this] {
    return std::ranges::any_of(ranks_, [](const Sampled& sampled) { return sampled.sampler >= 0; });
  };
  while (running()) {
    const bool goes_on = thread_.wait(kLookEveryNs);
    const bool no_longer = !goes_on || unix_ns() > plan_.end_unix_ns + kMostLateNs;
    for (Sampled& sampled : ranks_) look_after(sampled, no_longer);
  }
  for (Sampled& sampled : ranks_) convert(sampled);
}

StackSampler::Outcome StackSampler::finish() {
  thread_.end();
  if (!thread_.failure().empty())
    outcome_.notes.push_back("sampled stacks were not read to their end: " + thread_.failure());
  return std::move(outcome_);
}

}  // namespace eroica
