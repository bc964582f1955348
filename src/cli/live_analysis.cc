#include "cli/live_analysis.h"

#include <algorithm>
#include <set>

#include "cli/conclude.h"
#include "cli/executor.h"
#include "cli/progress.h"
#include "trace/bundle.h"

namespace eroica {
namespace {

std::vector<int32_t> ranks_of(const InputSet& inputs) {
  std::vector<int32_t> ranks;
  ranks.reserve(inputs.ranks.size());
  for (const RankInput& input : inputs.ranks) ranks.push_back(input.rank);
  return ranks;
}

}  // namespace

Result<LiveAnalysis> analyze_window(const WindowTaken& taken, const Collected* baseline, std::span<const Rule> rules,
                                    size_t threads) {
  const Result<InputSet> inputs = discover({taken.folder}, {});
  if (!inputs) return inputs.error();
  ThreadExecutor executor(threads);
  const std::unique_ptr<ProgressSink> silent = terminal_progress(true);
  Result<Collected> collected = collect_patterns(*inputs, "", executor, *silent);
  if (!collected) return collected.error();
  DocumentOptions options;
  options.ranks_listed = ranks_of(*inputs);
  options.notes = taken.notes;
  options.notes.insert(options.notes.end(), collected->notes.begin(), collected->notes.end());
  Conclusion conclusion =
      taken.goes_on ? conclude_running(*collected, baseline, rules) : conclude(*collected, baseline, rules);
  Result<Document> document = build_document(collected->patterns, collected->names, options, std::move(conclusion));
  if (!document) return document.error();
  if (taken.interference_ms >= 0) document->budget.interference_ms = taken.interference_ms;
  const auto set = [](std::optional<double>& to, double value) {
    if (value >= 0) to = value;
  };
  set(document->budget.probe_us_per_step, taken.cost.probe_us_per_step);
  set(document->budget.probe_percent, taken.cost.probe_percent);
  set(document->budget.watcher_percent, taken.cost.watcher_percent);
  return LiveAnalysis{std::move(document.value()), std::move(collected.value())};
}

Document blocked_document(const JobInquired& inquired, const std::string& job, std::span<const Rule> rules) {
  const BlockedInquiry& inquiry = inquired.inquiry;
  Document document;
  document.job_id = job;
  document.world_size = inquiry.world_size;
  document.healthy = false;
  document.window.start_unix_ns = inquired.cause.blocked.since_unix_ns;
  document.window.duration_ms = inquiry.silent_s * 1e3;
  document.coverage.ranks_expected = inquiry.world_size;
  std::set<std::string> hosts;
  for (const RankInquiry& rank : inquiry.ranks) {
    if (rank.recorder_known || !rank.stack.empty() || rank.process.dead() || rank.process.stopped()) {
      ++document.coverage.ranks_seen;
    }
    if (!rank.host.empty()) hosts.insert(rank.host);
  }
  document.coverage.hosts_seen = hosts.size();
  document.conclusion = conclude_blocked(inquiry, rules);
  document.profile.notes = document.conclusion.notes;
  // Nothing was profiled: all that is told of time is that none passed in steps.
  document.profile.steps.source = "window";
  const int32_t first = inquiry.ranks.empty() ? 0 : inquiry.ranks.front().rank;
  for (ClassSpread& spread : document.profile.time.over_ranks) spread.max_rank = first;
  if (inquiry.world_size > 0) {
    document.budget.coverage = static_cast<double>(document.coverage.ranks_seen) / inquiry.world_size;
  }
  if (!document.conclusion.diagnoses.empty()) {
    document.budget.resolution = document.conclusion.diagnoses.front().function ? "function" : "host";
    document.budget.yield = 1;
  }
  return document;
}

}  // namespace eroica
