#include "agent/process_state.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "sample/system_files.h"

namespace eroica {
namespace {

std::string contents(const std::string& path) { return SystemFiles().read(path); }

}  // namespace

ProcessState read_process_state(pid_t pid, const std::string& proc) {
  ProcessState state;
  if (pid <= 0) return state;
  const std::string folder = fmt::format("{}/{}/", proc, pid);
  const std::string stat = contents(folder + "stat");
  const size_t name_end = stat.rfind(')');  // the name before it may hold anything
  if (name_end == std::string::npos) return state;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 52 && fields >> field; ++number) {
    if (number == 3) state.letter = field[0];
    if (number == 22) state.start_ticks = std::strtoull(field.c_str(), nullptr, 10);
    if (number == 52 && state.letter == 'Z')
      state.exit_code = static_cast<int>(std::strtol(field.c_str(), nullptr, 10));
  }
  if (state.letter == 'S' || state.letter == 'D') state.wait_channel = contents(folder + "wchan");
  if (state.wait_channel == "0") state.wait_channel.clear();
  return state;
}

bool catches_signal(pid_t pid, int signal, const std::string& proc) {
  if (signal < 1 || signal > 64) return false;
  std::istringstream status(contents(fmt::format("{}/{}/status", proc, pid)));
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with("SigCgt:")) continue;
    const uint64_t mask = std::strtoull(line.c_str() + 7, nullptr, 16);
    return ((mask >> static_cast<unsigned>(signal - 1)) & 1) != 0;
  }
  return false;
}

std::string in_words(const ProcessState& state, pid_t pid) {
  const auto what = [&]() -> std::string {
    const std::string where = state.wait_channel.empty() ? "" : fmt::format(" ({})", state.wait_channel);
    switch (state.letter) {
      case 'R':
        return "runs";
      case 'S':
        return "sleeps" + where;
      case 'D':
        return "is blocked in the kernel" + where;
      case 'T':
        return "is stopped by a signal";
      case 't':
        return "is stopped by a debugger";
      case 'Z':
        return "has ended, and nobody has waited for it";
      case 'X':
        return "is gone";
      default:
        return fmt::format("is in state {}", state.letter);
    }
  };
  return fmt::format("process {} {}", pid, what());
}

}  // namespace eroica
