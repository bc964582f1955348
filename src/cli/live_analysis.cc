#include "cli/live_analysis.h"

#include <algorithm>
#include <set>
#include <utility>

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

/// What is known of a job that steps no longer.
struct Standstill {
  int32_t world_size = -1;
  int32_t first_rank = -1;
  size_t ranks = 0;  ///< of which something is known
  std::set<std::string> hosts;
  int64_t since_unix_ns = 0;
  double silent_s = 0;
};

Document document_of(const Standstill& seen, const std::string& job, Conclusion conclusion) {
  Document document;
  document.job_id = job;
  document.world_size = seen.world_size;
  document.healthy = conclusion.diagnoses.empty();
  document.window.start_unix_ns = seen.since_unix_ns;
  document.window.duration_ms = seen.silent_s * 1e3;
  document.coverage.ranks_expected = seen.world_size;
  document.coverage.ranks_seen = seen.ranks;
  document.coverage.hosts_seen = seen.hosts.size();
  document.conclusion = std::move(conclusion);
  document.profile.notes = document.conclusion.notes;
  // Nothing was profiled: all that is told of time is that none passed in steps.
  document.profile.steps.source = "window";
  for (ClassSpread& spread : document.profile.time.over_ranks) spread.max_rank = std::max(0, seen.first_rank);
  if (seen.world_size > 0) document.budget.coverage = static_cast<double>(seen.ranks) / seen.world_size;
  if (!document.conclusion.diagnoses.empty()) {
    document.budget.resolution = document.conclusion.diagnoses.front().function ? "function" : "host";
    document.budget.yield = 1;
  }
  return document;
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
  Standstill seen;
  seen.world_size = inquiry.world_size;
  seen.since_unix_ns = inquired.cause.blocked.since_unix_ns;
  seen.silent_s = inquiry.silent_s;
  for (const RankInquiry& rank : inquiry.ranks) {
    seen.first_rank = seen.first_rank < 0 ? rank.rank : seen.first_rank;
    if (rank.recorder_known || !rank.stack.empty() || rank.process.dead() || rank.process.stopped()) ++seen.ranks;
    if (!rank.host.empty()) seen.hosts.insert(rank.host);
  }
  return document_of(seen, job, conclude_blocked(inquiry, rules));
}

Document ended_document(const RanksEnded& ended, const std::string& job, std::span<const Rule> rules) {
  const RankExits& ends = ended.ends;
  Standstill seen;
  seen.world_size = ends.world_size;
  seen.since_unix_ns = ended.cause.blocked.since_unix_ns;
  seen.ranks = ends.ends.size() + ends.going_on.size() + ends.ended_before.size();
  for (const RankExit& end : ends.ends) {
    seen.first_rank = seen.first_rank < 0 ? end.rank : std::min(seen.first_rank, end.rank);
    if (!end.host.empty()) seen.hosts.insert(end.host);
  }
  return document_of(seen, job, conclude_ended(ends, rules));
}

}  // namespace eroica
