#include "cli/live_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "agent/this_thread.h"
#include "base/rank_list.h"
#include "base/words.h"
#include "cli/live_analysis.h"
#include "cli/logging.h"
#include "report/json.h"
#include "report/text_sections.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using Kind = DetectorEvent::Kind;

constexpr int kNice = 10;

std::string ms_text(double ms) { return amount_text(ms, "ms"); }

std::string slow_in_words(const DetectorEvent& event) {
  const SlowFinding& slow = event.slow;
  std::string text = fmt::format("{} since step {}: ", slow.worse ? "slower still" : "slow", slow.onset_step);
  if (slow.level_ms > slow.baseline_ms * 1.02) {
    text += fmt::format("{} a step instead of {}", ms_text(slow.level_ms), ms_text(slow.baseline_ms));
  } else {
    text += fmt::format("{} of {} a step lost to single long ones", ms_text(slow.excess_ms), ms_text(slow.baseline_ms));
  }
  if (event.denied != WindowDenial::kNone) text += fmt::format("; no window ({})", window_denial_name(event.denied));
  return text;
}

std::string blocked_in_words(const DetectorEvent& event) {
  const BlockedFinding& blocked = event.blocked;
  if (blocked.all) return fmt::format("blocked: no step for {:.0f} s, the last was {}", blocked.silent_s, event.step);
  std::vector<int32_t> ranks;
  ranks.reserve(blocked.ranks.size());
  for (const LastStep& rank : blocked.ranks) ranks.push_back(rank.rank);
  return fmt::format("blocked: no step of {} for {:.0f} s, while others go on", rank_list(ranks), blocked.silent_s);
}

Status append_line(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool written = fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!written) return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(error))};
  return ok_status();
}

TextOptions text_options() {
  TextOptions options;
  options.style.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  options.width = 110;
  return options;
}

}  // namespace

void say(const std::string& text) {
  std::string lines;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    lines += "eroica: " + printable(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  std::fputs(lines.c_str(), stderr);  // in one piece, between what the job writes
}

LiveReport::LiveReport(LiveReportOptions options) : options_(std::move(options)) {}

void LiveReport::start() {
  thread_ = std::thread([this] { run(); });
}

void LiveReport::hear(WatchNews news) {
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
  }
  came_.notify_one();
}

void LiveReport::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  came_.notify_one();
  thread_.join();
}

void LiveReport::run() {
  give_way(kNice);
  while (true) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return finished_ || !news_.empty(); });
    if (news_.empty()) return;
    WatchNews news = std::move(news_.front());
    news_.pop_front();
    lock.unlock();
    try {
      std::visit([this](auto& one) { tell(one); }, news);
    } catch (const std::exception& failure) {  // the job goes on whatever happens here
      say(fmt::format("an analysis failed: {}", failure.what()));
    }
  }
}

void LiveReport::tell(const RanksKnown& known) {
  const std::string of = known.world_size > static_cast<int32_t>(known.ranks.size())
                             ? fmt::format(" of {}", known.world_size)
                             : std::string();
  say(fmt::format("watching {}{} rank{} on {} host{}", known.ranks.size(), of, known.ranks.size() == 1 ? "" : "s",
                  known.hosts, known.hosts == 1 ? "" : "s"));
}

void LiveReport::tell(const Detected& detected) {
  switch (detected.event.kind) {
    case Kind::kSlow:
    case Kind::kStillSlow:
      return say(slow_in_words(detected.event));
    case Kind::kBlocked:
      return say(blocked_in_words(detected.event));
    case Kind::kRecovered:
      return say(fmt::format("steps are as they were, from about step {}", detected.event.step));
    case Kind::kUnblocked:
      return say(fmt::format("the job goes on, at step {}", detected.event.step));
    case Kind::kBaseline:
      return;
  }
}

void LiveReport::tell(const WindowBegun& begun) {
  const double length_s = static_cast<double>(begun.plan.end_unix_ns - begun.plan.start_unix_ns) * 1e-9;
  say(fmt::format("profiling {} rank{} for {:.1f} s{}", begun.ranks, begun.ranks == 1 ? "" : "s", length_s,
                  begun.baseline ? ", to compare later windows with" : ""));
}

void LiveReport::clear_away(const std::string& folder) const {
  std::error_code error;
  if (!options_.keep.empty()) {
    const fs::path to = fs::path(options_.keep) / fs::path(folder).filename();
    fs::create_directories(options_.keep, error);
    if (!error) fs::copy(folder, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
    if (error) {
      say(fmt::format("{}: the window cannot be kept: {}", to.string(), error.message()));
    } else {
      say(fmt::format("the window is kept in {}", to.string()));
    }
  }
  fs::remove_all(folder, error);
}

void LiveReport::tell(WindowTaken& taken) {
  const bool is_baseline = taken.cause.kind == Kind::kBaseline;
  for (const std::string& note : taken.notes) say(note);
  if (taken.window.written_count() == 0) {
    say("no rank could be profiled, so nothing can be told of this window");
    return clear_away(taken.folder);
  }
  Result<LiveAnalysis> analysis =
      analyze_window(taken, baseline_ ? &*baseline_ : nullptr, options_.rules.rules, options_.threads);
  if (!analysis) {
    say(fmt::format("the window cannot be used: {}", analysis.error().message));
    return clear_away(taken.folder);
  }
  if (is_baseline) {
    baseline_ = std::move(analysis->collected);
    if (analysis->document.healthy) {
      std::string cost;
      if (taken.interference_ms >= 0)
        cost = fmt::format(" (it cost {:.1f} s of training)", taken.interference_ms * 1e-3);
      say("the healthy window is taken; nothing wrong was found in it" + cost);
    } else {
      deliver(analysis->document, taken.cause);  // slow from its start, perhaps
    }
  } else {
    deliver(analysis->document, taken.cause);
  }
  clear_away(taken.folder);
}

void LiveReport::tell(const JobInquired& inquired) {
  Document document = blocked_document(inquired, options_.job, options_.rules.rules);
  for (const std::string& note : document.conclusion.notes) say(note);
  deliver(document, inquired.cause);
}

void LiveReport::tell(const Remark& remark) { say(remark.text); }

void LiveReport::deliver(Document& document, const DetectorEvent& cause) {
  TimingSection timing;
  timing.detected_unix_ns = cause.unix_ns;
  timing.diagnosed_unix_ns = unix_ns();
  if (cause.kind == Kind::kSlow || cause.kind == Kind::kStillSlow) timing.onset_unix_ns = cause.slow.onset_unix_ns;
  if (cause.kind == Kind::kBlocked) timing.onset_unix_ns = cause.blocked.since_unix_ns;
  document.timing = timing;
  diagnoses_ += document.conclusion.diagnoses.size();
  say(answer(document, false, text_options()));
  std::string figures;
  if (timing.onset_unix_ns > 0) {
    figures = fmt::format("{:.0f} s after it began",
                          static_cast<double>(timing.diagnosed_unix_ns - timing.onset_unix_ns) * 1e-9);
  }
  if (document.budget.interference_ms) {
    figures += fmt::format("{}the window cost {:.1f} s of training", figures.empty() ? "" : "; ",
                           *document.budget.interference_ms * 1e-3);
  }
  if (!figures.empty()) say(fmt::format("({})", figures));
  if (options_.json.empty()) return;
  if (const Status status = append_line(options_.json, write_json(document, -1)); !status) say(status.error().message);
}

}  // namespace eroica
