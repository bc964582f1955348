#include "cli/live_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <langinfo.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "agent/own_file.h"
#include "agent/this_thread.h"
#include "base/clocks.h"
#include "base/rank_list.h"
#include "base/words.h"
#include "cli/cost_text.h"
#include "cli/kept_windows.h"
#include "cli/live_analysis.h"
#include "cli/logging.h"
#include "report/json.h"
#include "report/text_sections.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using Kind = DetectorEvent::Kind;

constexpr int kNice = 10;
constexpr size_t kMostResults = 8;

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

std::string behind(const std::string& front, const std::string& text) { return text.empty() ? "" : front + text; }

/// What an analysis needed: the process lives on, and may do nothing for days.
void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

TextOptions text_options() {
  TextOptions options;
  options.style.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  options.width = 110;
  return options;
}

}  // namespace

Status append_line(int fd, const std::string& path, const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(errno))};
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return ok_status();
}

Status append_line(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(errno))};
  Status status = append_line(fd, path, line);
  close(fd);
  return status;
}

void say_of(const std::string& job, const std::string& text) {
  const std::string front = job.empty() ? "eroica: " : fmt::format("eroica: {}: ", printable(job));
  std::string lines;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    lines += front + printable(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  std::fputs(lines.c_str(), stderr);  // in one piece, between what the job writes
}

LiveReport::LiveReport(LiveReportOptions options) : options_(std::move(options)) {}

void LiveReport::start() {
  thread_ = std::thread([this] { run(); });
}

void LiveReport::say(const std::string& text) const { say_of(options_.is_one_of_many ? options_.job : "", text); }

void LiveReport::complete(JobStatus& status) const {
  const std::lock_guard lock(mutex_);
  if (status.window.empty() && !analysing_.empty()) {
    status.window = analysing_;
    status.stage = WindowStage::kAnalysing;
  }
  status.diagnoses = static_cast<int64_t>(diagnoses_);
  status.last_window = last_window_;
  status.last_diagnosis = last_diagnosis_;
}

void LiveReport::hear(WatchNews news) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto* taken = std::get_if<WindowTaken>(&news)) analysing_ = taken->window.plan().id;
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
    case Kind::kRequested:
      return;
  }
}

void LiveReport::tell(const WindowBegun& begun) {
  const double length_s = begun.plan.length_s();
  std::string why;
  if (begun.cause == Kind::kBaseline) why = ", to compare later windows with";
  if (begun.cause == Kind::kRequested) why = begun.reason.empty() ? ", as asked" : ", as asked: " + begun.reason;
  say(fmt::format("profiling {} rank{} for {:.1f} s{}", begun.ranks, begun.ranks == 1 ? "" : "s", length_s, why));
}

void LiveReport::clear_away(const std::string& folder, const std::string& window) const {
  if (!options_.keep.empty()) {
    const Result<std::string> kept = KeptWindows(options_.keep, options_.keep_policy).keep(folder, window, unix_ns());
    say(kept ? fmt::format("the window is kept in {}", *kept) : kept.error().message);
  }
  std::error_code error;
  fs::remove_all(folder, error);
}

void LiveReport::tell(WindowTaken& taken) {
  for (const std::string& note : taken.notes) say(note);
  WindowOutcome outcome;
  try {
    outcome = judge(taken);
  } catch (const std::exception& failure) {  // who waits for it is told
    outcome.text = fmt::format("an analysis failed: {}", failure.what());
    say(outcome.text);
  }
  outcome.id = taken.window.plan().id;
  clear_away(taken.folder, outcome.id);
  give_back_memory();
  const std::lock_guard lock(mutex_);
  if (analysing_ == outcome.id) analysing_.clear();
  last_window_ = std::move(outcome);
}

WindowOutcome LiveReport::judge(WindowTaken& taken) {
  WindowOutcome outcome;
  const auto failed = [&](const std::string& why) {
    say(why);
    outcome.text = why;
    for (const std::string& note : taken.notes) outcome.text += "; " + note;
    return outcome;
  };
  if (taken.window.written_count() == 0) {
    return failed("no rank could be profiled, so nothing can be told of this window");
  }
  Result<LiveAnalysis> analysis = [&] {
    const std::unique_lock turn =
        options_.turn == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*options_.turn);
    return analyze_window(taken, baseline_ ? &*baseline_ : nullptr, options_.rules.rules, options_.threads);
  }();
  if (!analysis) return failed(fmt::format("the window cannot be used: {}", analysis.error().message));
  Document& document = analysis->document;
  outcome.claims = !document.healthy;
  const bool is_baseline = taken.cause.kind == Kind::kBaseline;
  if (is_baseline) baseline_ = std::move(analysis->collected);
  if (is_baseline && document.healthy) {
    outcome.text = "the healthy window is taken; nothing wrong was found in it";
    if (taken.interference_ms >= 0) {
      outcome.text += fmt::format(" (it cost {:.1f} s of training{})", taken.interference_ms * 1e-3,
                                  behind("; watching costs ", in_words(taken.cost)));
    }
    say(outcome.text);
  } else {
    outcome.document = deliver(document, taken.cause, taken.cost,
                               taken.window.plan().id);  // also of a job that is slow from its start
    const std::vector<Diagnosis>& claims = document.conclusion.diagnoses;
    outcome.text = claims.empty() ? "nothing wrong was found" : claims.front().title;
  }
  return outcome;
}

void LiveReport::tell(const JobInquired& inquired) {
  Document document = blocked_document(inquired, options_.job, options_.rules.rules);
  ToldEnds::Pids pids;
  for (const RankInquiry& rank : inquired.inquiry.ranks) pids[rank.rank] = rank.pid;
  deliver_ends(document, inquired.cause, pids);
}

void LiveReport::tell(const RanksEnded& ended) {
  Document document = ended_document(ended, options_.job, options_.rules.rules);
  ToldEnds::Pids pids;
  for (const RankExit& end : ended.ends.ends) pids[end.rank] = end.pid;
  deliver_ends(document, ended.cause, pids);
}

void LiveReport::deliver_ends(Document& document, const DetectorEvent& cause, const ToldEnds::Pids& pids) {
  const Conclusion& conclusion = document.conclusion;
  if (told_ends_.holds(conclusion, pids)) {
    return say(fmt::format("this is because of {}, as told before", rank_list(conclusion.diagnoses.front().ranks)));
  }
  told_ends_.add(conclusion, pids);
  for (const std::string& note : conclusion.notes) say(note);
  if (conclusion.diagnoses.empty() && conclusion.hints.empty()) return say("who holds the job up is not known");
  (void)deliver(document, cause, {}, "");
}

void LiveReport::tell(const Remark& remark) { say(remark.text); }

std::string LiveReport::deliver(Document& document, const DetectorEvent& cause, const WatchCost& cost,
                                const std::string& window) {
  TimingSection timing;
  timing.detected_unix_ns = cause.unix_ns;
  timing.diagnosed_unix_ns = unix_ns();
  if (cause.kind == Kind::kSlow || cause.kind == Kind::kStillSlow) timing.onset_unix_ns = cause.slow.onset_unix_ns;
  if (cause.kind == Kind::kBlocked) timing.onset_unix_ns = cause.blocked.since_unix_ns;
  document.timing = timing;
  std::string text = answer(document, false, text_options());
  say(options_.is_one_of_many ? answer(document, true, text_options()) : text);
  std::string figures;
  if (timing.onset_unix_ns > 0) {
    figures = fmt::format("{:.0f} s after it began",
                          static_cast<double>(timing.diagnosed_unix_ns - timing.onset_unix_ns) * 1e-9);
  }
  if (document.budget.interference_ms) {
    figures += fmt::format("{}the window cost {:.1f} s of training", figures.empty() ? "" : "; ",
                           *document.budget.interference_ms * 1e-3);
  }
  figures += behind(figures.empty() ? "watching costs " : "; watching costs ", in_words(cost));
  if (!figures.empty()) {
    say(fmt::format("({})", figures));
    text += fmt::format("({})\n", figures);
  }
  note_diagnosis(document.conclusion, timing.diagnosed_unix_ns);
  const std::string json = write_json(document, -1);
  if (options_.append) {
    if (const Status status = options_.append(json); !status) say(status.error().message);
  }
  return window.empty() ? "" : write_results(window, json, text);
}

void LiveReport::note_diagnosis(const Conclusion& conclusion, int64_t now_unix_ns) {
  const std::lock_guard lock(mutex_);
  diagnoses_ += conclusion.diagnoses.size();
  if (conclusion.diagnoses.empty()) return;
  const Diagnosis& first = conclusion.diagnoses.front();
  last_diagnosis_ = {now_unix_ns, first.cause, first.title, first.ranks};
}

std::string LiveReport::write_results(const std::string& window, const std::string& json, const std::string& text) {
  std::string path = fmt::format("{}/{}.json", options_.results, window);
  const std::string text_path = fmt::format("{}/{}.txt", options_.results, window);
  std::error_code error;
  fs::create_directory(options_.results, error);
  Status written = write_own_file(text_path, text);
  if (written) written = write_own_file(path, json);
  if (!written) {
    say(written.error().message);
    return "";
  }
  results_.push_back(path);
  results_.push_back(text_path);
  while (results_.size() > 2 * kMostResults) {
    fs::remove(results_.front(), error);
    results_.pop_front();
  }
  return path;
}

}  // namespace eroica
