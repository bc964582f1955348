#include "agent/rank_exits.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <tuple>
#include <utility>

#include "base/rank_list.h"
#include "pattern/python_path.h"

namespace eroica {
namespace {

constexpr std::string_view kCause = "blocked.process_dead";
constexpr size_t kMostTold = 8;
// Closer together the order in which two ends are noticed says little.
constexpr double kSureOrderMs = 5;

constexpr std::array<std::pair<int, const char*>, 12> kSignals = {{{SIGHUP, "SIGHUP"},
                                                                   {SIGINT, "SIGINT"},
                                                                   {SIGQUIT, "SIGQUIT"},
                                                                   {SIGILL, "SIGILL"},
                                                                   {SIGTRAP, "SIGTRAP"},
                                                                   {SIGABRT, "SIGABRT"},
                                                                   {SIGBUS, "SIGBUS"},
                                                                   {SIGFPE, "SIGFPE"},
                                                                   {SIGKILL, "SIGKILL"},
                                                                   {SIGSEGV, "SIGSEGV"},
                                                                   {SIGPIPE, "SIGPIPE"},
                                                                   {SIGTERM, "SIGTERM"}}};

int signal_of(const RankExit& end) {
  return end.wait_status && WIFSIGNALED(*end.wait_status) ? WTERMSIG(*end.wait_status) : 0;
}

std::string signal_in_words(int number) {
  const auto* const named = std::ranges::find(kSignals, number, &std::pair<int, const char*>::first);
  return named == kSignals.end() ? fmt::format("signal {}", number)
                                 : fmt::format("signal {} ({})", number, named->second);
}

/// A peer that is gone shows itself as an error of the library.
bool raised_in_torch(const RankExit& end) {
  return !end.exception.empty() && canonical_python_path(end.file).text.starts_with("torch/");
}

/// What a peer's end or silence does to a rank: an error of the library, or the abort of its watchdog. Where ranks of
/// other hosts may have been the first, any exception that the collectives raise may be one, wherever the program
/// called them.
bool is_consequence(const RankExit& end, bool are_all_here) {
  if (end.exception.empty()) return signal_of(end) == SIGABRT;
  return raised_in_torch(end) || end.exception.starts_with("Dist") ||
         (!are_all_here && end.exception == "RuntimeError");
}

/// Whether a status can be read depends on whether the process's parent was quicker: an unknown one is like any.
bool alike(const RankExit& a, const RankExit& b) {
  if (!a.exception.empty()) return std::tie(a.exception, a.file, a.line) == std::tie(b.exception, b.file, b.line);
  return b.exception.empty() && (!a.wait_status || !b.wait_status || a.wait_status == b.wait_status);
}

std::optional<FunctionRef> raised_at(const RankExit& end) {
  if (end.exception.empty() || end.file.empty()) return std::nullopt;
  FunctionRef function;
  function.name = end.exception;
  function.kind = function_kind_name(FunctionKind::kPython);
  function.file = canonical_python_path(end.file).text;
  function.line = end.line;
  return function;
}

std::vector<int32_t> others_of(const RankExits& ends, const std::vector<int32_t>& first) {
  std::vector<int32_t> others = ends.going_on;
  for (const RankExit& end : ends.ends) {
    if (std::ranges::find(first, end.rank) == first.end()) others.push_back(end.rank);
  }
  std::ranges::sort(others);
  return others;
}

std::string what_followed(const RankExits& ends, const std::vector<int32_t>& first) {
  std::string text;
  size_t told = 0;
  for (const RankExit& end : ends.ends) {
    if (std::ranges::find(first, end.rank) != first.end()) continue;
    if (++told > kMostTold) return text + ", …";
    text += fmt::format("{}rank {} {}", text.empty() ? "" : ", ", end.rank, in_words(end));
  }
  return text;
}

}  // namespace

bool RankExit::in_order() const { return exception.empty() && (wait_status ? *wait_status == 0 : said_bye); }

bool RankExit::as_asked() const {
  constexpr int kShellsOffset = 128;  // what shells and handlers add to a signal's number
  int signal = signal_of(*this);
  if (wait_status && WIFEXITED(*wait_status)) signal = WEXITSTATUS(*wait_status) - kShellsOffset;
  return exception == "KeyboardInterrupt" || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
         signal == SIGQUIT;
}

std::string in_words(const RankExit& end) {
  if (!end.exception.empty()) {
    return fmt::format("ended with {} at {}:{}", end.exception, canonical_python_path(end.file).text, end.line);
  }
  if (const int signal = signal_of(end); signal != 0) return "was killed by " + signal_in_words(signal);
  if (end.wait_status && WIFEXITED(*end.wait_status)) {
    return fmt::format("exited with status {}", WEXITSTATUS(*end.wait_status));
  }
  return end.said_bye ? "ended in order" : "is gone without a word";
}

namespace {

/// The first end that is not what another one did to it; ends.size() where there is none.
size_t first_cause(const RankExits& ends, bool are_all_here) {
  const auto is_cause = [&](const RankExit& end) { return end.accuses() && !is_consequence(end, are_all_here); };
  return static_cast<size_t>(std::ranges::find_if(ends.ends, is_cause) - ends.ends.begin());
}

struct FirstToEnd {
  std::vector<int32_t> ranks;
  size_t end = 0;  ///< in RankExits::ends, what tells how
};

FirstToEnd find_first(const RankExits& ends) {
  if (ends.ends.empty()) return {};
  const size_t known = ends.ends.size() + ends.going_on.size() + ends.ended_before.size();
  const bool are_all_here = static_cast<int32_t>(known) >= ends.world_size;
  size_t place = first_cause(ends, are_all_here);
  // Sockets close before a process has ended: a peer's complaint may be heard first.
  if (is_consequence(ends.ends.front(), are_all_here)) {
    if (place == ends.ends.size()) {
      if (!are_all_here || !ends.going_on.empty() || !ends.ended_before.empty()) return {};
      place = 0;
    }
  } else if (place == ends.ends.size() || ends.ends[place].unix_ns != ends.ends.front().unix_ns) {
    place = 0;  // else they were noticed together, and their order says nothing
  }
  const RankExit& first = ends.ends[place];
  if (!first.accuses()) return {};
  const bool is_unknown = !first.wait_status && !first.said_bye;
  const bool has_followers =
      std::ranges::any_of(ends.ends, [&](const RankExit& end) { return is_consequence(end, are_all_here); });
  // Its program chose the status; nobody was left behind by that.
  if (first.said_bye && first.exception.empty() && !has_followers && ends.going_on.empty()) return {};
  if (is_unknown && !has_followers && ends.going_on.empty()) return {};
  if (is_unknown &&
      std::ranges::all_of(ends.ends, [&](const RankExit& end) { return &end == &first || !end.accuses(); })) {
    return {};
  }
  std::vector<int32_t> all_alike;
  for (const RankExit& end : ends.ends) {
    if (alike(first, end)) all_alike.push_back(end.rank);
  }
  std::ranges::sort(all_alike);
  if (ends.going_on.empty() && all_alike.size() == ends.ends.size()) {
    if (signal_of(first) == 0) return {};  // the program's own way to end
    return {all_alike, place};
  }
  // One mistake in the program is met by several ranks before a launcher ends the rest.
  if (!first.exception.empty() && !is_consequence(first, are_all_here)) return {all_alike, place};
  return {{first.rank}, place};
}

}  // namespace

std::vector<int32_t> first_to_end(const RankExits& ends) { return find_first(ends).ranks; }

Conclusion conclude_ended(const RankExits& ends, std::span<const Rule> rules) {
  Conclusion conclusion;
  const auto [first, place] = find_first(ends);
  if (first.empty()) return conclusion;
  const RankExit& end = ends.ends[place];
  const std::vector<int32_t> others = others_of(ends, first);
  conclusion.victims = others;

  Diagnosis diagnosis;
  diagnosis.cause = kCause;
  diagnosis.title = kCause;
  if (const auto rule = std::ranges::find(rules, kCause, &Rule::cause); rule != rules.end()) {
    diagnosis.title = rule->title;
    diagnosis.action = rule->action;
  }
  diagnosis.ranks = first;
  if (first.size() == 1) diagnosis.component = fmt::format("rank {}", first.front());
  diagnosis.function = raised_at(end);
  std::string who = rank_list(first);
  if (!who.empty() && who.front() == 'r') who.front() = 'R';
  diagnosis.summary = fmt::format("{} {} after step {}", who, in_words(end), end.last_step);
  diagnosis.summary += others.empty()              ? "."
                       : ends.ended_before.empty() ? ", before any other rank ended."
                                                   : ", the first of those that were still training.";
  if (const std::string after = what_followed(ends, first); !after.empty()) {
    diagnosis.summary += fmt::format(" What followed: {}.", after);
  }
  diagnosis.evidence.push_back({fmt::format("last step of rank {}, which {}", end.rank, in_words(end)),
                                static_cast<double>(end.last_step),
                                "",
                                {},
                                {},
                                {end.rank}});
  if (signal_of(end) == SIGKILL && ends.oom_kills > 0) {
    diagnosis.summary += " The kernel killed a process for want of memory at that time.";
    diagnosis.evidence.push_back(
        {"processes that the kernel killed for want of memory", static_cast<double>(ends.oom_kills), "", {}, {}, {}});
  }
  diagnosis.evidence.push_back(
      {"other ranks that had not ended yet", static_cast<double>(others.size()), "", {}, {}, first});
  double ahead_ms = kSureOrderMs;
  const auto next = std::ranges::find_if(
      ends.ends, [&, of = first](const RankExit& other) { return std::ranges::find(of, other.rank) == of.end(); });
  if (next != ends.ends.end()) {
    ahead_ms = static_cast<double>(next->unix_ns - end.unix_ns) * 1e-6;
    diagnosis.evidence.push_back({"time until the next rank ended", ahead_ms, "ms", {}, {}, {next->rank}});
  }
  const bool sure = !is_consequence(end, true) && (ahead_ms >= kSureOrderMs || !end.exception.empty());
  diagnosis.confidence = sure ? 0.95 : 0.8;
  diagnosis.confidence_why.emplace_back(sure ? "it ended first, and the kernel or the rank tells how"
                                             : "others ended right after it");
  const double world = std::max<double>(static_cast<double>(others.size() + first.size()), ends.world_size);
  diagnosis.lost_ms_per_step = ends.mean_step_s * 1e3;
  diagnosis.marginal_ms_per_step = diagnosis.lost_ms_per_step;
  diagnosis.lost_gpu_seconds_per_hour = 3600 * world;
  conclusion.diagnoses.push_back(std::move(diagnosis));
  return conclusion;
}

}  // namespace eroica
