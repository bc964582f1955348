#include "compare/kernel_speed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr size_t kMostAsked = 64;        // ranks of the subject
constexpr size_t kMostReferences = 128;  // uses of one function on other ranks
constexpr double kMoreWork = 1.03;
constexpr double kMoreCalls = 1.3;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Median of `value_of` over uses of the same function outside the subject, on the same accelerator.
template <typename Accepts, typename ValueOf>
double reference(const Job& job, const FunctionIndex& index, const Subject& subject, uint32_t rank, uint32_t function,
                 Accepts accepts, ValueOf value_of) {
  std::vector<double> values;
  const auto entries = index.uses(function);
  const size_t stride = std::max<size_t>(1, entries.size() / (4 * kMostReferences));
  for (size_t i = 0; i < entries.size() && values.size() < kMostReferences; i += stride) {
    const FunctionIndex::Entry& entry = entries[i];
    if (subject.contains(entry.rank) || job.ranks[entry.rank].device != job.ranks[rank].device) continue;
    const FunctionUse& use = job.uses[entry.use];
    if (accepts(use)) values.push_back(value_of(use, job.ranks[entry.rank]));
  }
  return values.empty() ? kNaN : median(values);
}

bool is_in(const JobFunction& function, KernelClass which) {
  if (function.kind != FunctionKind::kCompute) return false;
  return which == KernelClass::kAny || (which == KernelClass::kMatrix) == (function.workload == Workload::kMatrix);
}

// The same function with the same shapes about as often: where a function runs with several shapes its mean duration
// depends on how often with each.
bool is_same_work(const FunctionUse& a, const FunctionUse& b) {
  constexpr float kAlike = 1.2F;
  return a.shape == b.shape && b.mean_us > 0 &&
         (a.shapes == 1 || (a.calls <= kAlike * b.calls && b.calls <= kAlike * a.calls));
}

struct Times {
  double actual = 0;
  double usual = 0;
  size_t functions = 0;  // compared
  size_t slower = 0;     // … that take longer
};

Times kernel_times(const Job& job, const FunctionIndex& index, const Subject& subject, uint32_t rank,
                   KernelClass which) {
  Times times;
  for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
    if (!is_in(job.functions[use.function], which) || use.mean_us <= 0) continue;
    const double usual = reference(
        job, index, subject, rank, use.function, [&](const FunctionUse& other) { return is_same_work(use, other); },
        [](const FunctionUse& other, const RankFacts&) { return static_cast<double>(other.mean_us); });
    if (std::isnan(usual)) continue;
    ++times.functions;
    times.slower += use.mean_us > kMoreWork * usual ? 1 : 0;
    times.actual += use.exposed;
    times.usual += use.exposed * usual / use.mean_us;
  }
  return times;
}

std::optional<double> mean_over(const Subject& subject, const std::function<double(uint32_t)>& value_of) {
  double sum = 0;
  size_t count = 0;
  for (const uint32_t rank : subject.sample(kMostAsked)) {
    const double value = value_of(rank);
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? std::optional<double>(sum / static_cast<double>(count)) : std::nullopt;
}

}  // namespace

FunctionIndex::FunctionIndex(const Job& job) : begin_(job.functions.size() + 1) {
  for (const FunctionUse& use : job.uses) ++begin_[use.function + 1];
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  entries_.resize(job.uses.size());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    for (uint32_t use = job.ranks[rank].uses_begin; use < job.ranks[rank].uses_end; ++use) {
      entries_[next[job.uses[use].function]++] = {rank, use};
    }
  }
}

double kernel_ratio_of(const Job& job, const FunctionIndex& index, const Subject& subject, uint32_t rank,
                       KernelClass which) {
  constexpr double kLeastPart = 0.1;  // of the time in such kernels; less does not speak for them
  const Times times = kernel_times(job, index, subject, rank, which);
  double all = 0;
  for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
    if (is_in(job.functions[use.function], which)) all += use.exposed;
  }
  return times.usual > 0 && times.actual >= kLeastPart * all ? times.actual / times.usual : kNaN;
}

double kernel_excess_share(const Job& job, const FunctionIndex& index, const Subject& subject, uint32_t rank,
                           KernelClass which) {
  const Times times = kernel_times(job, index, subject, rank, which);
  return times.actual - times.usual;
}

std::vector<double> kernel_excess_shares(const Job& job, const FunctionIndex& index, KernelClass which) {
  std::vector<double> excess(job.ranks.size());
  for (uint32_t function = 0; function < job.functions.size(); ++function) {
    if (!is_in(job.functions[function], which)) continue;
    std::map<std::array<uint32_t, 3>, std::vector<FunctionIndex::Entry>> alike;  // by accelerator and shapes
    for (const FunctionIndex::Entry& entry : index.uses(function)) {
      const FunctionUse& use = job.uses[entry.use];
      if (use.mean_us > 0 && use.alone_us > 0) {
        alike[{job.ranks[entry.rank].device, use.shape, use.shapes}].push_back(entry);
      }
    }
    for (auto& [key, entries] : alike) {
      std::vector<double> calls;
      for (const FunctionIndex::Entry& entry : entries) calls.push_back(job.uses[entry.use].calls);
      FunctionUse usual = job.uses[entries.front().use];
      usual.calls = static_cast<float>(median(calls));
      std::erase_if(entries,
                    [&](const FunctionIndex::Entry& entry) { return !is_same_work(usual, job.uses[entry.use]); });
      if (entries.size() < 2) continue;
      std::vector<double> alone_us;
      for (const FunctionIndex::Entry& entry : entries) alone_us.push_back(job.uses[entry.use].alone_us);
      const double usual_us = median(alone_us);
      for (const FunctionIndex::Entry& entry : entries) {
        const FunctionUse& use = job.uses[entry.use];
        excess[entry.rank] += use.exposed * (1 - usual_us / use.alone_us);
      }
    }
  }
  return excess;
}

std::optional<double> kernel_ratio(const Job& job, const FunctionIndex& index, const Subject& subject,
                                   KernelClass which) {
  return mean_over(subject, [&](uint32_t rank) { return kernel_ratio_of(job, index, subject, rank, which); });
}

std::optional<double> slower_kernels(const Job& job, const FunctionIndex& index, const Subject& subject,
                                     KernelClass which) {
  return mean_over(subject, [&](uint32_t rank) {
    const Times times = kernel_times(job, index, subject, rank, which);
    return times.functions > 0 ? static_cast<double>(times.slower) / static_cast<double>(times.functions) : kNaN;
  });
}

std::optional<WorkContrast> work_contrast(const Job& job, const FunctionIndex& index, const Peers& peers,
                                          const Subject& subject) {
  WorkContrast sum;
  sum.ratio = 0;
  size_t members = 0;
  for (const uint32_t rank : subject.sample(kMostAsked)) {
    std::vector<std::pair<double, double>> ratios;  // and the time that the function takes on peers
    double weight = 0;
    for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
      if (!is_in(job.functions[use.function], KernelClass::kAny) || use.work_per_call <= 0) continue;
      std::vector<double> work;
      std::vector<double> calls;
      std::vector<double> time;
      for (const FunctionIndex::Entry& entry : index.uses(use.function)) {
        if (work.size() == kMostReferences) break;
        if (subject.contains(entry.rank) || peers.set_of[entry.rank] != peers.set_of[rank]) continue;
        const FunctionUse& other = job.uses[entry.use];
        if (other.work_per_call <= 0) continue;
        work.push_back(other.work_per_call);
        calls.push_back(other.calls);
        time.push_back(other.exposed);
      }
      const double usual = median(work);
      if (usual <= 0) continue;
      // A window holds one step more on one rank than on another; only clearly more calls are more work.
      const double more_calls = use.calls / median(calls);
      const double of_calls = more_calls > kMoreCalls || more_calls < 1 / kMoreCalls ? more_calls : 1;
      ratios.emplace_back(of_calls * use.work_per_call / usual, median(time));
      weight += median(time);
    }
    if (weight <= 0) continue;
    const auto more =
        std::count_if(ratios.begin(), ratios.end(), [](const auto& ratio) { return ratio.first > kMoreWork; });
    sum.breadth += static_cast<double>(more) / static_cast<double>(ratios.size());
    sum.ratio += weighted_median(std::move(ratios));
    ++members;
  }
  if (members == 0) return std::nullopt;
  sum.ratio /= static_cast<double>(members);
  sum.breadth /= static_cast<double>(members);
  return sum;
}

std::optional<double> api_ratio(const Job& job, const FunctionIndex& index, const Subject& subject) {
  return mean_over(subject, [&](uint32_t rank) {
    double actual = 0;
    double usual = 0;
    for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
      if (job.functions[use.function].kind != FunctionKind::kRuntime || use.p50_us <= 0) continue;
      const double other = reference(
          job, index, subject, rank, use.function, [](const FunctionUse& entry) { return entry.p50_us > 0; },
          [](const FunctionUse& entry, const RankFacts&) { return static_cast<double>(entry.p50_us); });
      if (std::isnan(other)) continue;
      actual += use.total;
      usual += use.total * other / use.p50_us;
    }
    return usual > 0 ? actual / usual : kNaN;
  });
}

std::optional<double> copy_ratio(const Job& job, const FunctionIndex& index, const Subject& subject) {
  const auto time_per_byte = [](const FunctionUse& use, const RankFacts& of) {
    return static_cast<double>(use.total) * of.step_ms / static_cast<double>(use.bytes);
  };
  return mean_over(subject, [&](uint32_t rank) {
    double actual = 0;
    double usual = 0;
    for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
      if (job.functions[use.function].kind != FunctionKind::kMemory || use.bytes <= 0) continue;
      const double other = reference(
          job, index, subject, rank, use.function, [](const FunctionUse& entry) { return entry.bytes > 0; },
          time_per_byte);
      if (std::isnan(other)) continue;
      actual += use.total;
      usual += use.total * other / time_per_byte(use, job.ranks[rank]);
    }
    return usual > 0 ? actual / usual : kNaN;
  });
}

double other_kernels_share(const Job& job, const FunctionIndex& index, const Subject& subject) {
  if (subject.is_all()) return 0;
  return mean_over(subject,
                   [&](uint32_t rank) {
                     double other = 0;
                     double all = 0;
                     for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
                       if (job.functions[use.function].kind != FunctionKind::kCompute) continue;
                       all += use.exposed;
                       const auto entries = index.uses(use.function);
                       const bool elsewhere =
                           std::any_of(entries.begin(), entries.end(), [&](const FunctionIndex::Entry& entry) {
                             return !subject.contains(entry.rank) && job.uses[entry.use].calls > 0.3F * use.calls;
                           });
                       if (!elsewhere) other += use.exposed;
                     }
                     return all > 0 ? other / all : 0.0;
                   })
      .value_or(0);
}

}  // namespace eroica
