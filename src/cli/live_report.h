#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/job_status.h"
#include "agent/watch_news.h"
#include "cli/pipeline.h"
#include "cli/told_ends.h"
#include "diagnose/rule_file.h"
#include "report/document.h"

namespace eroica {

struct LiveReportOptions {
  std::string job;
  bool is_one_of_many = false;  ///< each line names the job, and diagnoses are told in brief
  /// Takes each diagnosis as one line of JSON; none: nobody wants them.
  std::function<Status(const std::string& line)> append;
  std::string keep;  ///< bundles are moved into this folder; empty: removed
  KeepPolicy keep_policy;
  std::string results;  ///< the last few documents are written here, for whoever asked for a window
  RuleSet rules;
  size_t threads = 1;          ///< that analyse
  std::mutex* turn = nullptr;  ///< is held while a window is analysed; nullptr: nobody else analyses
};

/// Tells the person at the terminal what a watcher has to say, and analyses its windows, on a thread of low priority.
class LiveReport {
 public:
  explicit LiveReport(LiveReportOptions options);
  LiveReport(const LiveReport&) = delete;
  LiveReport& operator=(const LiveReport&) = delete;
  ~LiveReport() { finish(); }

  void start();
  /// Takes one piece of news; never waits for the analysis of an earlier one.
  void hear(WatchNews news);
  /// What this knows of the job is added; on any thread.
  void complete(JobStatus& status) const;
  /// Returns when all that was heard is told.
  void finish();
  [[nodiscard]] size_t diagnoses() const { return diagnoses_; }  ///< after finish()

 private:
  void run();
  void tell(const RanksKnown& known);
  void tell(const Detected& detected);
  void tell(const WindowBegun& begun);
  void tell(WindowTaken& taken);
  void tell(const JobInquired& inquired);
  void tell(const RanksEnded& ended);
  void tell(const Remark& remark);
  /// All but the window's id.
  WindowOutcome judge(WindowTaken& taken);
  /// Gives the path of the document, where one of a window was written.
  std::string deliver(Document& document, const DetectorEvent& cause, const WatchCost& cost, const std::string& window);
  void deliver_ends(Document& document, const DetectorEvent& cause, const ToldEnds::Pids& pids);
  void note_diagnosis(const Conclusion& conclusion, int64_t now_unix_ns);
  std::string write_results(const std::string& window, const std::string& json, const std::string& text);
  void say(const std::string& text) const;
  void clear_away(const std::string& folder, const std::string& window) const;

  LiveReportOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<WatchNews> news_;
  std::string analysing_;  // a window's id; shared, as the next two
  WindowOutcome last_window_;
  ToldDiagnosis last_diagnosis_;
  std::deque<std::string> results_;
  bool finished_ = false;
  std::thread thread_;
  std::optional<Collected> baseline_;
  size_t diagnoses_ = 0;  // shared
  ToldEnds told_ends_;
};

/// A line for the person at the terminal, or several. `job`: the one that it is about; empty: there is but one.
void say_of(const std::string& job, const std::string& text);
inline void say(const std::string& text) { say_of("", text); }

/// Appends to a file, which is made where it is missing. Error kWrite.
Status append_line(const std::string& path, const std::string& line);
/// The same of one that is open. `path`: for messages.
Status append_line(int fd, const std::string& path, const std::string& line);

}  // namespace eroica
