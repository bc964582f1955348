#include "report/document.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/rank_list.h"
#include "base/saturate.h"
#include "report/sections.h"

namespace eroica {
namespace {

/// Signals without which little can be said of a job's hardware.
std::vector<std::string> basic_signals(bool gpu_job) {
  std::vector<std::string> signals{"cpu.run"};
  if (gpu_job) signals.insert(signals.end(), {"gpu.sm_active", "gpu.sm_clock"});
  return signals;
}

bool has_signal(const RankPattern& pattern, const std::string& metric) {
  return std::ranges::any_of(pattern.functions, [&](const FunctionPattern& function) {
    return std::ranges::any_of(function.hardware, [&](const HardwareUse& use) { return use.metric == metric; });
  });
}

std::vector<std::string> signals_missing(std::span<const RankPattern* const> patterns) {
  std::set<std::string> missing;
  for (const RankPattern* pattern : patterns) {
    for (const std::string& metric : basic_signals(pattern->gpu_job)) {
      if (!has_signal(*pattern, metric)) missing.insert(metric);
    }
  }
  return {missing.begin(), missing.end()};
}

std::vector<const RankPattern*> by_rank(std::span<const RankPattern> patterns) {
  std::vector<const RankPattern*> sorted;
  for (const RankPattern& pattern : patterns) sorted.push_back(&pattern);
  std::ranges::sort(sorted, {}, [](const RankPattern* pattern) { return pattern->rank; });
  return sorted;
}

std::vector<int32_t> ranks_of(std::span<const RankPattern* const> patterns) {
  std::vector<int32_t> ranks;
  for (const RankPattern* pattern : patterns) ranks.push_back(pattern->rank);
  return ranks;
}

Coverage coverage(std::span<const RankPattern* const> patterns, int32_t ranks_expected) {
  std::set<std::string> hosts;
  for (const RankPattern* pattern : patterns) {
    if (!pattern->host.empty()) hosts.insert(pattern->host);
  }
  return {ranks_expected, patterns.size(), hosts.size(), signals_missing(patterns)};
}

ImportSection import_section(std::span<const RankPattern* const> patterns) {
  ImportSection sum;
  for (const RankPattern* pattern : patterns) add_import(*pattern, sum);
  return sum;
}

/// The longest window; each rank's clock is its own, so the earliest start is only where to look.
WindowSection window_section(std::span<const RankPattern* const> patterns) {
  WindowSection window;
  int64_t longest_ns = 0;
  for (const RankPattern* pattern : patterns) {
    const int64_t start = pattern->window_start_unix_ns;
    if (window.start_unix_ns == 0 || (start != 0 && start < window.start_unix_ns)) {
      window.start_unix_ns = start;
    }
    longest_ns = std::max(longest_ns, pattern->window_ns);
  }
  window.duration_ms = static_cast<double>(longest_ns) * 1e-6;
  return window;
}

Status check_ranks(std::span<const int32_t> wanted, std::span<const int32_t> present) {
  std::vector<int32_t> unknown;
  for (const int32_t rank : wanted) {
    if (!std::ranges::binary_search(present, rank)) unknown.push_back(rank);
  }
  if (unknown.empty()) return ok_status();
  return Error{Error::Kind::kInvalid,
               fmt::format("there is no {}; there is: {}", rank_list(unknown), rank_list(present))};
}

/// Same text on several ranks: told once, with the ranks.
void add_rank_notes(std::span<const RankView> ranks, std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::vector<int32_t>>> by_text;  // by first rank
  std::map<std::string, size_t> index;
  for (const RankView& view : ranks) {
    for (const std::string& note : view.pattern->import.notes) {
      const auto [place, inserted] = index.try_emplace(note, by_text.size());
      if (inserted) by_text.push_back({note, {}});
      by_text[place->second].second.push_back(view.pattern->rank);
    }
  }
  for (const auto& [text, where] : by_text) {
    notes.push_back(fmt::format("{}: {}", rank_list(where), text));
  }
}

void add_missing_ranks(std::span<const int32_t> present, int32_t world_size, std::span<const int32_t> listed,
                       std::vector<std::string>& notes) {
  const std::string missing = missing_ranks(present, world_size);
  if (!missing.empty()) notes.push_back(fmt::format("{} of {}: nothing to read", missing, world_size));
  std::vector<int32_t> beyond;
  for (const int32_t rank : listed) {
    if (rank >= world_size && !std::ranges::binary_search(present, rank)) beyond.push_back(rank);
  }
  if (!beyond.empty()) notes.push_back(fmt::format("{} of bundle.json: nothing to read", rank_list(beyond)));
}

void add_basis_notes(std::span<const RankView> ranks, std::vector<std::string>& notes) {
  std::vector<int32_t> windows;
  std::vector<int32_t> cut;
  std::vector<int32_t> ahead;
  uint64_t irregular = 0;
  for (const RankView& view : ranks) {
    if (view.basis.per_window) {
      if (!view.basis.scaled_window) windows.push_back(view.pattern->rank);
      continue;
    }
    if (view.basis.ahead) ahead.push_back(view.pattern->rank);
    const StepPattern& first = view.pattern->steps[view.basis.counted.front()];
    if (!first.complete || first.irregular) cut.push_back(view.pattern->rank);
    for (const StepPattern& step : view.pattern->steps) irregular += step.irregular ? 1 : 0;
  }
  if (!windows.empty()) {
    notes.push_back(
        fmt::format("{}: no steps were found, so all figures are for the whole window; --step-marker "
                    "NAME names an annotation or function that begins each step",
                    rank_list(windows)));
  }
  if (!ahead.empty()) {
    notes.push_back(
        fmt::format("{}: the host runs ahead of its device, so single steps end when they please; the time of a step "
                    "is the mean over all",
                    rank_list(ahead)));
  }
  if (!cut.empty()) {
    notes.push_back(
        fmt::format("{}: no complete regular step, so the figures are over the steps that "
                    "the window cut",
                    rank_list(cut)));
  }
  if (irregular > 0 && cut.empty()) {
    notes.push_back(
        fmt::format("irregular steps (evaluation, checkpoint, skipped optimizer step) are left out of the "
                    "figures per step: {} over all ranks",
                    irregular));
  }
}

void add_job_notes(std::span<const RankPattern* const> patterns, std::vector<std::string>& notes) {
  std::set<std::string> jobs;
  for (const RankPattern* pattern : patterns) {
    if (!pattern->job_id.empty()) jobs.insert(pattern->job_id);
  }
  if (jobs.size() > 1) {
    notes.push_back(fmt::format("these ranks are of different jobs: {}", fmt::join(jobs, ", ")));
  }
}

/// Causes that only say that something is slow.
bool names_cause(const Diagnosis& diagnosis) {
  if (diagnosis.cause == "code.slow_function") return diagnosis.function.has_value();
  return !diagnosis.cause.empty() && !diagnosis.cause.ends_with("_unexplained");
}

BudgetSection budget_section(const Coverage& coverage, const std::vector<Diagnosis>& claims) {
  BudgetSection budget;
  if (coverage.ranks_expected > 0) {
    budget.coverage = static_cast<double>(coverage.ranks_seen) / static_cast<double>(coverage.ranks_expected);
  }
  if (claims.empty()) return budget;
  const Diagnosis& costliest = claims.front();
  if (!costliest.function) {
    budget.resolution = "host";
  } else {
    budget.resolution = costliest.component.empty() ? "function" : "function and component";
  }
  budget.yield = static_cast<double>(std::ranges::count_if(claims, names_cause)) / static_cast<double>(claims.size());
  return budget;
}

void add_missing_signals(const std::vector<std::string>& more, std::vector<std::string>& signals) {
  signals.insert(signals.end(), more.begin(), more.end());
  std::ranges::sort(signals);
  const auto repeated = std::ranges::unique(signals);
  signals.erase(repeated.begin(), repeated.end());
}

std::string some_functions(std::span<const RankView> ranks, const NameTable& names) {
  constexpr size_t kExamples = 8;
  std::string list;
  const FunctionsSection known = functions_section(ranks, names, "", kExamples);
  for (const FunctionRow& row : known.rows) list += fmt::format("\n  {:016x}  {}", row.id, row.name);
  if (known.left_out > 0) list += fmt::format("\n  … and {} more (--top 0 lists all)", known.left_out);
  return list.empty() ? " none at all" : list;
}

}  // namespace

void add_import(const ImportSection& more, ImportSection& sum) {
  sum.events += more.events;
  sum.bytes += more.bytes;
  sum.defects.merge(more.defects);
  for (size_t c = 0; c < kCategoryCount; ++c) {
    sum.category_count[c] += more.category_count[c];
    sum.category_ns[c] = saturating_add(sum.category_ns[c], more.category_ns[c]);
  }
}

void add_import(const RankPattern& pattern, ImportSection& sum) {
  add_import(ImportSection{pattern.import.events, pattern.import.bytes, pattern.import.defects, pattern.category_count,
                           pattern.category_ns},
             sum);
}

Result<Document> build_document(std::span<const RankPattern> patterns, const NameTable& names,
                                const DocumentOptions& options, Conclusion conclusion) {
  if (patterns.empty()) return Error{Error::Kind::kInvalid, "there is no rank to report on"};
  const std::vector<const RankPattern*> all = by_rank(patterns);
  const std::vector<int32_t> present = options.whole ? options.whole->ranks : ranks_of(all);
  if (const Status status = check_ranks(options.ranks, present); !status) return status.error();

  std::vector<std::string> basis_notes;
  std::vector<RankView> selected;
  selected.reserve(all.size());
  for (const RankPattern* pattern : all) selected.push_back({pattern, step_basis(*pattern)});
  make_comparable(selected, basis_notes);
  std::erase_if(selected, [&](const RankView& view) {
    return !options.ranks.empty() && std::ranges::find(options.ranks, view.pattern->rank) == options.ranks.end();
  });

  Document document;
  for (const RankPattern* pattern : all) {
    if (document.job_id.empty()) document.job_id = pattern->job_id;
    document.world_size = std::max(document.world_size, pattern->world_size);
  }
  document.window = window_section(all);
  const auto listed = static_cast<int32_t>(options.ranks_listed.size());
  document.coverage = coverage(all, listed == 0 ? document.world_size : std::max(document.world_size, listed));
  add_missing_signals(conclusion.signals_missing, document.coverage.signals_missing);
  document.import = options.whole ? options.whole->import : import_section(all);
  if (options.whole) {
    document.coverage.ranks_seen = options.whole->ranks.size();
    document.coverage.hosts_seen = options.whole->hosts;
  }
  document.healthy = conclusion.diagnoses.empty() && !conclusion.blocked;
  document.budget = budget_section(document.coverage, conclusion.diagnoses);

  Profile& profile = document.profile;
  profile.steps = steps_section(selected, conclusion.what_if.step_ms);
  profile.time = time_section(selected);
  FunctionsSection functions = functions_section(selected, names, options.function, options.top);
  if (!options.function.empty() && functions.rows.empty() && functions.left_out == 0) {
    return Error{Error::Kind::kInvalid,
                 fmt::format("no function's name, file or id matches '{}'; those that explain most:{}",
                             options.function, some_functions(selected, names))};
  }
  profile.functions = std::move(functions.rows);
  profile.functions_left_out = functions.left_out;
  profile.function_detail = !options.function.empty();
  profile.rank_detail = !options.ranks.empty();
  profile.collectives = collectives_section(selected, conclusion.joined);

  profile.notes = options.notes;
  profile.notes.insert(profile.notes.end(), conclusion.notes.begin(), conclusion.notes.end());
  if (options.whole) {
    profile.notes.push_back(
        fmt::format("the tables of steps, time, functions and collectives are over {} of {} ranks: those that stand "
                    "out, and others "
                    "evenly spread; causes were looked for on all",
                    selected.size(), present.size()));
  }
  add_missing_ranks(present, document.world_size, options.ranks_listed, profile.notes);
  add_job_notes(all, profile.notes);
  profile.notes.insert(profile.notes.end(), basis_notes.begin(), basis_notes.end());
  add_basis_notes(selected, profile.notes);
  add_rank_notes(selected, profile.notes);
  document.conclusion = std::move(conclusion);
  return document;
}

}  // namespace eroica
