#pragma once

#include <optional>
#include <vector>

#include "compare/job.h"
#include "compare/subject.h"

namespace eroica {

/// Which kernels are compared.
enum class KernelClass : uint8_t { kAny, kMatrix, kMemoryBound };

/// The uses of each function, so that equal work can be found on other ranks.
class FunctionIndex {
 public:
  explicit FunctionIndex(const Job& job);
  struct Entry {
    uint32_t rank;  ///< index in Job::ranks
    uint32_t use;   ///< index in Job::uses
  };
  [[nodiscard]] std::span<const Entry> uses(uint32_t function) const {
    return {entries_.data() + begin_[function], entries_.data() + begin_[function + 1]};
  }

 private:
  std::vector<uint32_t> begin_;
  std::vector<Entry> entries_;
};

/// How much longer the same compute takes on the subject: the time of its kernels (CPU jobs: operators) over the time
/// that they would take at the median mean duration of the same function with the same shapes on ranks with the same
/// accelerator outside the subject, whatever their stage. 1 = alike. Absent: nothing comparable.
std::optional<double> kernel_ratio(const Job& job, const FunctionIndex& index, const Subject& subject,
                                   KernelClass which);

/// Of the kernels of the class that can be compared, by number, those that take longer than on other ranks; the mean
/// over the subject. A slow part slows them all, uneven work only some.
std::optional<double> slower_kernels(const Job& job, const FunctionIndex& index, const Subject& subject,
                                     KernelClass which);

/// … of one rank against all others outside the subject; NaN: nothing comparable.
double kernel_ratio_of(const Job& job, const FunctionIndex& index, const Subject& subject, uint32_t rank,
                       KernelClass which);

/// Share of the subject's window that the same kernels at their usual speed would save.
double kernel_excess_share(const Job& job, const FunctionIndex& index, const Subject& subject, uint32_t rank,
                           KernelClass which);

/// … of every rank by itself, at the median over all ranks with the same accelerator, whatever their stage: for ranks
/// that nobody else does the same work as. Judged by the kernels that run away from collectives, since how much runs
/// beside them differs from stage to stage. By rank; 0 where nothing is comparable.
std::vector<double> kernel_excess_shares(const Job& job, const FunctionIndex& index, KernelClass which);

/// Work of a subject beside its peers'.
struct WorkContrast {
  double ratio = 1;    ///< median over functions
  double breadth = 0;  ///< share of the functions, each counting once, that have at least 3 % more
};

/// Work (tensor elements, launched threads) a step of the functions that both the subject and ranks outside it run,
/// over that on their peers; functions count by the time that each takes there. Absent: nothing comparable.
std::optional<WorkContrast> work_contrast(const Job& job, const FunctionIndex& index, const Peers& peers,
                                          const Subject& subject);

/// Median duration of the calls that launch kernels, over that on ranks outside the subject. Absent: not comparable.
std::optional<double> api_ratio(const Job& job, const FunctionIndex& index, const Subject& subject);

/// Time per byte of copies between host and device, over that on ranks outside the subject.
std::optional<double> copy_ratio(const Job& job, const FunctionIndex& index, const Subject& subject);

/// Share of the subject's compute time in functions that no rank outside it runs.
double other_kernels_share(const Job& job, const FunctionIndex& index, const Subject& subject);

}  // namespace eroica
