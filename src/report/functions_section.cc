#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/robust.h"
#include "report/sections.h"

namespace eroica {
namespace {

/// One function wherever it ran: index in the list of ranks, and its pattern there.
using Places = std::vector<std::pair<size_t, const FunctionPattern*>>;

constexpr size_t kMostIssuers = 5;

bool matches(uint64_t id, const FunctionName* name, const std::string& wanted) {
  if (wanted.empty() || fmt::format("{:016x}", id) == wanted) return true;
  return name != nullptr &&
         (name->text.find(wanted) != std::string::npos || name->full.find(wanted) != std::string::npos ||
          name->file.find(wanted) != std::string::npos);
}

double exposed_ms(const StepBasis& basis, const FunctionPattern& function) {
  // The series knows which steps were regular; the sum over the window does not.
  return !basis.per_window && !function.step_exposed_us.empty() ? mean_step_ms(basis, function.step_exposed_us)
                                                                : basis.per_step_ms(function.exposed_ns);
}

double per_step(const StepBasis& basis, const FunctionPattern& function) {
  return window_to_step(basis, function.step_exposed_us, function.exposed_ns);
}

FunctionOnRank on_rank(const RankView& view, const FunctionPattern& function, bool detail) {
  FunctionOnRank row;
  row.rank = view.pattern->rank;
  row.exposed_ms = exposed_ms(view.basis, function);
  const double ms_per_step = per_step(view.basis, function) * 1e-6;
  row.total_ms = std::max(static_cast<double>(function.total_ns) * ms_per_step, row.exposed_ms);
  row.self_ms = static_cast<double>(function.self_ns) * ms_per_step;
  row.executions = function.executions;
  const DurationQuantiles durations = duration_quantiles(function.durations, function.longest_ns);
  row.p50_us = durations.p50_us;
  row.p99_us = durations.p99_us;
  if (detail) {
    for (const uint32_t us : function.step_exposed_us) row.step_exposed_ms.push_back(us * 1e-3);
  }
  return row;
}

/// Over `count` ranks; those that are not in `rows` count as 0.
template <typename Value>
Spread spread(std::span<const FunctionOnRank> rows, size_t count, Value value) {
  std::vector<double> values(count, 0.0);
  Spread result;
  for (size_t i = 0; i < rows.size(); ++i) {
    values[i] = value(rows[i]);
    if (result.max_rank < 0 || values[i] > result.max) {
      result.max = values[i];
      result.max_rank = rows[i].rank;
    }
  }
  result.median = median(values);
  return result;
}

std::vector<IssuerRow> issuers(const Places& places, std::span<const RankView> ranks, const NameTable& names) {
  std::map<std::pair<uint64_t, int32_t>, double> ms_by_place;
  for (const auto& [rank, function] : places) {
    for (const Issuer& issuer : function->issuers) {
      if (issuer.name == 0) continue;
      ms_by_place[{issuer.name, issuer.line}] +=
          ranks[rank].basis.per_step_ms(issuer.ns) / static_cast<double>(ranks.size());
    }
  }
  std::vector<IssuerRow> rows;
  for (const auto& [place, ms] : ms_by_place) {
    const auto name = names.find(place.first);
    if (name == names.end()) continue;
    rows.push_back({name->second.text, name->second.file, place.second, ms});
  }
  std::ranges::stable_sort(rows, [](const IssuerRow& a, const IssuerRow& b) {
    return std::tie(b.total_ms_per_step, a.file, a.line, a.name) <
           std::tie(a.total_ms_per_step, b.file, b.line, b.name);
  });
  if (rows.size() > kMostIssuers) rows.resize(kMostIssuers);
  return rows;
}

/// The line that most ranks give; code differs between ranks only where versions do.
int32_t common_line(const Places& places) {
  std::map<int32_t, size_t> votes;
  for (const auto& [rank, function] : places) {
    if (function->line > 0) ++votes[function->line];
  }
  const auto most = std::ranges::max_element(votes, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == votes.end() ? 0 : most->first;
}

std::vector<HardwareRow> hardware(const Places& places, std::span<const RankView> ranks) {
  std::vector<HardwareRow> rows;
  for (const auto& [rank, function] : places) {
    for (const HardwareUse& use : function->hardware) {
      rows.push_back({ranks[rank].pattern->rank, use.entity, use.metric, use.unit, use.mean, use.deviation});
    }
  }
  return rows;
}

FunctionRow function_row(uint64_t id, const Places& places, std::span<const RankView> ranks, const NameTable& names,
                         bool detail) {
  FunctionRow row;
  row.id = id;
  row.kind = places.front().second->kind;
  row.line = common_line(places);
  if (const auto name = names.find(id); name != names.end()) {
    row.name = name->second.text;
    row.full = name->second.full;
    row.file = name->second.file;
    row.path = name->second.path;
  } else {
    row.name = fmt::format("(unknown function {:016x})", id);
  }
  row.issuers = issuers(places, ranks, names);
  row.hardware = hardware(places, ranks);

  QuantileSketch durations;
  int64_t longest_ns = 0;
  std::vector<double> executions;
  for (const auto& [rank, function] : places) {
    row.ranks.push_back(on_rank(ranks[rank], *function, detail));
    durations.merge(function->durations);
    longest_ns = std::max(longest_ns, function->longest_ns);
    executions.push_back(static_cast<double>(function->executions) * per_step(ranks[rank].basis, *function));
    const double step_ms = ranks[rank].basis.step_ns * 1e-6;
    if (step_ms > 0) {
      row.share += row.ranks.back().exposed_ms / step_ms / static_cast<double>(ranks.size());
    }
  }
  row.executions_per_step = median(executions);
  row.exposed_ms = spread(row.ranks, ranks.size(), [](const auto& r) { return r.exposed_ms; });
  row.total_ms = spread(row.ranks, ranks.size(), [](const auto& r) { return r.total_ms; });
  row.self_ms = spread(row.ranks, ranks.size(), [](const auto& r) { return r.self_ms; });
  row.duration = duration_quantiles(durations, longest_ns);
  return row;
}

struct Weight {
  double exposed_ms = 0;
  double total_ms = 0;
};

Weight weight(const Places& places, std::span<const RankView> ranks) {
  Weight sum;
  for (const auto& [rank, function] : places) {
    sum.exposed_ms += exposed_ms(ranks[rank].basis, *function);
    sum.total_ms += ranks[rank].basis.per_step_ms(function->total_ns);
  }
  return sum;
}

}  // namespace

DurationQuantiles duration_quantiles(const QuantileSketch& sketch, int64_t longest_ns) {
  const double max_us = static_cast<double>(longest_ns) * 1e-3;
  const auto quantile_us = [&](double q) {
    const double us = static_cast<double>(sketch.quantile(q)) * 1e-3;
    // A sketch answers with the middle of a bucket, which may lie beyond the longest.
    return longest_ns > 0 ? std::min(us, max_us) : us;
  };
  return {quantile_us(0.5), quantile_us(0.99), longest_ns > 0 ? max_us : quantile_us(1)};
}

FunctionsSection functions_section(std::span<const RankView> ranks, const NameTable& names, const std::string& wanted,
                                   size_t top) {
  std::map<uint64_t, Places> by_id;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const FunctionPattern& function : ranks[rank].pattern->functions) {
      by_id[function.name].emplace_back(rank, &function);
    }
  }

  struct Candidate {
    uint64_t id;
    const FunctionName* name;
    const Places* places;
    Weight weight;
  };
  std::vector<Candidate> candidates;
  for (const auto& [id, places] : by_id) {
    const auto found = names.find(id);
    const FunctionName* name = found == names.end() ? nullptr : &found->second;
    if (matches(id, name, wanted)) candidates.push_back({id, name, &places, weight(places, ranks)});
  }
  static const FunctionName kNoName;
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    const FunctionName& a_name = a.name == nullptr ? kNoName : *a.name;
    const FunctionName& b_name = b.name == nullptr ? kNoName : *b.name;
    return std::tie(b.weight.exposed_ms, b.weight.total_ms, a_name.text, a_name.file, a.id) <
           std::tie(a.weight.exposed_ms, a.weight.total_ms, b_name.text, b_name.file, b.id);
  });

  FunctionsSection section;
  const size_t kept = std::min(top, candidates.size());
  section.left_out = candidates.size() - kept;
  for (size_t i = 0; i < kept; ++i) {
    section.rows.push_back(function_row(candidates[i].id, *candidates[i].places, ranks, names, !wanted.empty()));
  }
  return section;
}

}  // namespace eroica
