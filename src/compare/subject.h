#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compare/job.h"
#include "compare/peers.h"

namespace eroica {

/// Ranks of which something is said, told from all others.
class Subject {
 public:
  /// `ranks`: indices in Job::ranks, ascending, each once.
  Subject(std::vector<uint32_t> ranks, size_t job_size);
  [[nodiscard]] const std::vector<uint32_t>& ranks() const { return ranks_; }
  [[nodiscard]] bool contains(uint32_t rank) const { return is_member_[rank]; }
  [[nodiscard]] bool is_all() const { return ranks_.size() == is_member_.size(); }
  /// At most `most` of the ranks, evenly spread: what holds for a large subject is asked of these.
  [[nodiscard]] std::vector<uint32_t> sample(size_t most) const;

 private:
  std::vector<uint32_t> ranks_;
  std::vector<bool> is_member_;
};

/// A value of the subject beside that of its peers.
struct Contrast {
  double value = 0;
  std::optional<double> peers_median;  ///< absent: no peers outside the subject
  double peers_mad = 0;
  size_t peers = 0;  ///< how many
};

/// `value_of` the set's ranks that are not in the subject, NaN left out; of large sets some, evenly spread.
std::vector<double> values_outside(const PeerSet& set, const Subject& subject,
                                   const std::function<double(uint32_t)>& value_of);

/// Mean of `value_of` over the subject (of all ranks the median: what few of them show is not everybody's), beside the
/// median over the ranks of the same peer sets that are not in it. Ranks whose value is NaN are passed over; none left:
/// no contrast. Large sets are sampled evenly.
std::optional<Contrast> contrast(const Subject& subject, const Peers& peers,
                                 const std::function<double(uint32_t)>& value_of);

}  // namespace eroica
