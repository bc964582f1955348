#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/watch_news.h"
#include "base/result.h"
#include "cli/pipeline.h"
#include "diagnose/rule.h"
#include "report/document.h"

namespace eroica {

/// A window of a live job, reduced and judged.
struct LiveAnalysis {
  Document document;
  Collected collected;  ///< to compare later windows with
};

/// Reads the bundle that a watcher left. `baseline`: an earlier, healthy window, or nullptr. Errors as analyze's.
Result<LiveAnalysis> analyze_window(const WindowTaken& taken, const Collected* baseline, std::span<const Rule> rules,
                                    size_t threads);

/// The same of a job that stands still, from what was asked of its ranks.
Document blocked_document(const JobInquired& inquired, const std::string& job, std::span<const Rule> rules);

/// The same of one whose ranks ended.
Document ended_document(const RanksEnded& ended, const std::string& job, std::span<const Rule> rules);

}  // namespace eroica
