#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/watch_news.h"
#include "cli/pipeline.h"
#include "diagnose/rule_file.h"
#include "report/document.h"

namespace eroica {

struct LiveReportOptions {
  std::string job;
  std::string json;  ///< each diagnosis is appended to this file; empty: none
  std::string keep;  ///< bundles are moved into this folder; empty: removed
  RuleSet rules;
  size_t threads = 1;  ///< that analyse
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
  void tell(const Remark& remark);
  void deliver(Document& document, const DetectorEvent& cause);
  void clear_away(const std::string& folder) const;

  LiveReportOptions options_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<WatchNews> news_;
  bool finished_ = false;
  std::thread thread_;
  std::optional<Collected> baseline_;
  size_t diagnoses_ = 0;
  size_t kept_ = 0;
};

/// A line for the person at the terminal, or several.
void say(const std::string& text);

}  // namespace eroica
