#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>

#include "base/robust.h"
#include "compare/function_excess.h"
#include "diagnose/facts.h"
#include "diagnose/observed.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <typename ValueOf>
double sum_over(const Job& job, uint32_t rank, const std::vector<bool>& selected, ValueOf value_of) {
  double sum = 0;
  for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
    if (selected[use.function]) sum += value_of(use);
  }
  return sum;
}

std::string kind_of_collective(const NameTable& names, uint64_t hash) {
  const auto name = names.find(hash);
  return name == names.end() ? std::string() : collective_kind(name->second.text);
}

std::set<std::string> collective_kinds(const Job& job) {
  std::set<std::string> kinds;
  for (const CollectiveUse& use : job.collectives) kinds.insert(job.words[use.kind]);
  return kinds;
}

}  // namespace

std::vector<double> Facts::function_share(const std::string& expression) {
  const auto [found, is_new] = function_shares_.try_emplace(expression);
  if (!is_new) return found->second;
  const Job& job = *now_->job;
  const std::vector<bool>& selected = matcher_.matching(expression);
  std::vector<double>& shares = found->second;
  shares.reserve(job.ranks.size());
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    shares.push_back(sum_over(job, rank, selected, [](const FunctionUse& use) { return use.exposed; }));
  }
  return shares;
}

std::optional<SeenFact> Facts::function(std::string_view fact, const EvidenceRule& evidence,
                                        const Candidate& candidate) {
  const Job& job = *now_->job;
  if (fact == "function.user_share") {
    return contrasted(*now_, candidate, [&](uint32_t rank) { return user_python_share(job, job.ranks[rank]); });
  }
  const std::vector<bool>& selected = matcher_.matching(evidence.function);
  if (fact == "function.share") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      return sum_over(job, rank, selected, [](const FunctionUse& use) { return use.exposed; });
    });
  }
  if (fact == "function.excess_share") {
    auto seen = contrasted(*now_, candidate, [&](uint32_t rank) {
      return sum_over(job, rank, selected, [](const FunctionUse& use) { return use.exposed; });
    });
    if (!seen || !seen->peers_median) return std::nullopt;
    seen->value -= *seen->peers_median;
    seen->peers_median = 0;
    return seen;
  }
  if (fact == "function.ms") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      return job.step_ms * sum_over(job, rank, selected, [](const FunctionUse& use) { return use.self; });
    });
  }
  if (fact == "function.calls" || fact == "function.calls_ratio") {
    auto seen = contrasted(*now_, candidate, [&](uint32_t rank) {
      return sum_over(job, rank, selected, [](const FunctionUse& use) { return use.calls; });
    });
    if (fact == "function.calls") return seen;
    if (!seen || !seen->peers_median) return std::nullopt;
    if (*seen->peers_median <= 0) {
      if (seen->value <= 0) return std::nullopt;
      seen->value = 100;  // nobody else calls it
    } else {
      seen->value /= *seen->peers_median;
    }
    seen->peers_median = 1;
    seen->peers_mad = 0;
    return seen;
  }
  if (fact == "function.longest_ms") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      double longest = 0;
      for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
        if (selected[use.function]) longest = std::max(longest, use.longest_us * 1e-3);
      }
      return longest;
    });
  }
  return std::nullopt;
}

std::optional<SeenFact> Facts::transfer(std::string_view fact, const Candidate& candidate) {
  const Job& job = *now_->job;
  const auto ratio = [&](Span span) -> std::optional<SeenFact> {
    return observed(transfer_ratio(now_->transfers, job, candidate.subject, span), 1.0);
  };
  if (fact == "transfer.ratio") return ratio(Span::kUnknown);
  if (fact == "transfer.inter_host_ratio") return ratio(Span::kHosts);
  if (fact == "transfer.intra_host_ratio") return ratio(Span::kOneHost);
  if (fact == "transfer.share") {
    return contrasted(*now_, candidate, [&](uint32_t rank) { return now_->exposed_transfers[rank]; });
  }
  if (fact == "transfer.pair_ratio") {
    const auto worst = slowest_pair(now_->transfers, job);
    if (!worst) return std::nullopt;
    return SeenFact{worst->ratio, worst->usual, 0, std::nullopt,
                    job.words[worst->hosts.first] + " and " + job.words[worst->hosts.second]};
  }
  if (fact == "transfer.foreign_ratio" || fact == "transfer.pcie_ratio") {
    const bool of_nics = fact == "transfer.foreign_ratio";
    const Signal* transmit = job.signal(of_nics ? "net.transmit" : "gpu.pcie_transmit");
    if (transmit == nullptr) return std::nullopt;
    // Whose bytes an interface carries is known only where all of the job's ranks are.
    if (job.world_size > static_cast<int64_t>(job.ranks.size())) return std::nullopt;
    // Over what the job's own collectives between hosts move through it.
    std::vector<double> moved(job.ranks.size());
    for (const Transfer& of : now_->transfers) {
      if (of.span != Span::kHosts) continue;
      for (const uint32_t rank : of.ranks) {
        for (const CollectiveUse& use : job.collectives_of(job.ranks[rank])) {
          if (use.group == of.group && use.kind == of.kind) moved[rank] += static_cast<double>(use.bytes) * use.count;
        }
      }
    }
    double here = 0;
    size_t count = 0;
    std::vector<double> others;
    for (const SignalValue& value : transmit->values) {
      const Entity& entity = job.entities[value.entity];
      if (entity.kind != (of_nics ? EntityKind::kNic : EntityKind::kGpu)) continue;
      const bool ours = std::any_of(entity.ranks.begin(), entity.ranks.end(),
                                    [&](uint32_t rank) { return candidate.subject.contains(rank); });
      double own = 0;
      size_t observed_ranks = 0;
      for (const uint32_t rank : entity.ranks) {
        own += job.ranks[rank].observed ? moved[rank] : 0;
        observed_ranks += job.ranks[rank].observed ? 1 : 0;
      }
      if (own <= 0) continue;
      // Ranks without a trace move bytes as well.
      own *= static_cast<double>(entity.ranks.size()) / static_cast<double>(observed_ranks);
      if (ours) {
        here = std::max<double>(here, value.mean / own);
        ++count;
      } else {
        others.push_back(value.mean / own);
      }
    }
    if (count == 0 || others.empty() || median(others) <= 0) return std::nullopt;
    return observed(here / median(others), 1.0);
  }
  if (fact == "transfer.burst_share") {
    return contrasted(*now_, candidate, [&](uint32_t rank) {
      double weight = 0;
      double sum = 0;
      for (const CollectiveUse& use : job.collectives_of(job.ranks[rank])) {
        if (use.p99_us <= 0) continue;
        sum += use.total * (1 - use.p50_us / use.p99_us);
        weight += use.total;
      }
      return weight > 0 ? sum / weight : kNaN;
    });
  }
  return std::nullopt;
}

std::optional<SeenFact> Facts::from_baseline(std::string_view fact, const EvidenceRule& evidence) {
  if (fact == "baseline.available") return observed(baseline_ != nullptr ? 1.0 : 0.0, std::nullopt);
  if (baseline_ == nullptr) return std::nullopt;
  const Job& now = *now_->job;
  const Job& then = *baseline_->job;
  if (fact == "baseline.step_ratio") {
    return then.step_ms > 0 ? observed(now.step_ms / then.step_ms, 1) : std::nullopt;
  }
  // What each function took then: median over ranks, by hash.
  const auto per_function = [](const Job& job, FunctionKind kind, auto value_of) {
    std::map<uint64_t, std::vector<double>> values;
    for (const FunctionUse& use : job.uses) {
      if (job.functions[use.function].kind == kind) values[job.functions[use.function].hash].push_back(value_of(use));
    }
    std::map<uint64_t, double> medians;
    for (const auto& [hash, of_ranks] : values) medians.emplace(hash, median(of_ranks));
    return medians;
  };
  const auto ratio_of = [&](FunctionKind kind, auto value_of) -> std::optional<SeenFact> {
    const auto before = per_function(then, kind, value_of);
    double actual = 0;
    double usual = 0;
    for (const FunctionUse& use : now.uses) {
      const auto found = before.find(now.functions[use.function].hash);
      if (found == before.end() || value_of(use) <= 0) continue;
      actual += use.total;
      usual += use.total * found->second / value_of(use);
    }
    if (usual <= 0) return std::nullopt;
    return observed(actual / usual, 1);
  };
  if (fact == "baseline.compute_ratio") {
    return ratio_of(FunctionKind::kCompute, [](const FunctionUse& use) { return static_cast<double>(use.mean_us); });
  }
  if (fact == "baseline.api_ratio") {
    return ratio_of(FunctionKind::kRuntime, [](const FunctionUse& use) { return static_cast<double>(use.p50_us); });
  }
  if (fact == "baseline.host_ratio") {
    // Per call, and without what is called: launching calls have a fact of their own.
    const auto own = [](const Job& job) {
      return [&job](const FunctionUse& use) {
        const bool host_work = !job.functions[use.function].waits && use.calls > 0;
        return host_work ? static_cast<double>(use.self) * job.step_ms / use.calls : 0;
      };
    };
    double actual = 0;
    double usual = 0;
    for (const FunctionKind kind : {FunctionKind::kPython, FunctionKind::kOperator}) {
      const auto before = per_function(then, kind, own(then));
      for (const FunctionUse& use : now.uses) {
        if (now.functions[use.function].kind != kind) continue;
        const auto found = before.find(now.functions[use.function].hash);
        const double here = own(now)(use);
        if (found == before.end() || here <= 0) continue;
        const double there = found->second;
        if (there <= 0) continue;
        actual += use.self;
        usual += use.self * there / here;
      }
    }
    return usual > 0 ? observed(actual / usual, 1) : std::nullopt;
  }
  if (fact == "baseline.transfer_ratio") {
    double actual = 0;
    double usual = 0;
    for (const Transfer& transfer : now_->transfers) {
      std::vector<double> before;
      for (const Transfer& other : baseline_->transfers) {
        if (then.words[other.kind] == now.words[transfer.kind] &&
            then.groups[other.group].size == now.groups[transfer.group].size &&
            std::abs(other.bytes - transfer.bytes) <= 0.1 * transfer.bytes) {
          before.push_back(other.transfer_us);
        }
      }
      if (before.empty() || transfer.transfer_us <= 0) continue;
      actual += transfer.exposed;
      usual += transfer.exposed * median(before) / transfer.transfer_us;
    }
    return usual > 0 ? observed(actual / usual, 1) : std::nullopt;
  }
  // Functions that the earlier window did not have; of collectives only those of kinds that it used.
  const auto new_share = [&](FunctionKind kind, bool of_kind) {
    std::unordered_set<uint64_t> known;
    for (const JobFunction& function : then.functions) known.insert(function.hash);
    const std::set<std::string> kinds_then = collective_kinds(then);
    std::vector<bool> is_new;
    is_new.reserve(now.functions.size());
    for (const JobFunction& function : now.functions) {
      is_new.push_back(!known.contains(function.hash) &&
                       (function.kind != FunctionKind::kCollective ||
                        kinds_then.contains(kind_of_collective(*now_->names, function.hash))));
    }
    double fresh = 0;
    double all = 0;
    for (const FunctionUse& use : now.uses) {
      const JobFunction& function = now.functions[use.function];
      if (of_kind && function.kind != kind) continue;
      const double weight = of_kind ? use.total : use.exposed;
      all += weight;
      if (is_new[use.function]) fresh += weight;
    }
    const double base = of_kind ? all : static_cast<double>(now.ranks.size());
    return observed(base > 0 ? fresh / base : 0, 0);
  };
  if (fact == "baseline.collective_renamed_share") return new_share(FunctionKind::kCollective, true);
  if (fact == "baseline.kernel_renamed_share") return new_share(FunctionKind::kCompute, true);
  if (fact == "baseline.function_new_share") return new_share(FunctionKind::kPython, false);
  if (fact == "baseline.label_differs") {
    const std::string expression = evidence.function.empty() ? "." : evidence.function;
    const auto values = [&](const Job& job) {
      std::map<std::string, std::unordered_set<std::string>> result;
      for (const auto& labels : job.label_sets) {
        for (const auto& [key, value] : labels) {
          if (matches_text(key, expression)) result[key].insert(value);
        }
      }
      return result;
    };
    return observed(values(now) != values(then) ? 1 : 0, 0);
  }
  return std::nullopt;
}

}  // namespace eroica
