#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "steps/anchor.h"
#include "steps/step.h"

namespace eroica {

inline constexpr size_t kMostLoaders = 8;  ///< loaders told apart; further ones share the last place

/// Fetches by loader, see UsualCycle::loader.
using FetchCounts = std::array<uint32_t, kMostLoaders>;

/// What happened between two anchors.
struct Cycle {
  FetchCounts fetches{};
  uint32_t other_optimizers = 0;
  int64_t duration_ns = 0;
};

/// What a cycle of a job usually holds, learned from its last cycles, so that an unusual one is told.
class UsualCycle {
 public:
  /// The place of a loader in FetchCounts.
  size_t loader(uint64_t name_hash);
  void add(const Cycle& cycle);
  /// Adds the first cycles (as many as are kept) that `marks` hold.
  void learn(std::span<const Mark> marks, const Anchor& anchor);

  [[nodiscard]] bool known() const { return !cycles_.empty(); }
  /// Usual fetches by loader: what the last three cycles agree on, else the commonest count.
  [[nodiscard]] const FetchCounts& fetches() const { return fetches_; }
  [[nodiscard]] uint32_t total_fetches() const { return total_fetches_; }
  /// Whether two in three cycles fetch exactly as usual.
  [[nodiscard]] bool steady() const { return steady_; }
  /// Whether the loader fetches in fewer than half of the cycles.
  [[nodiscard]] bool foreign(size_t loader) const { return foreign_[loader]; }
  /// Median over the cycles that fetch as usual; 0 = unknown.
  [[nodiscard]] int64_t duration_ns() const { return duration_ns_; }
  [[nodiscard]] uint32_t most_other_optimizers() const { return most_other_optimizers_; }

 private:
  void refresh();

  std::vector<uint64_t> loaders_;
  std::vector<Cycle> cycles_;  // a ring
  size_t next_ = 0;            // where the ring's oldest stands, once it is full
  FetchCounts fetches_{};
  std::array<bool, kMostLoaders> foreign_{};
  uint32_t total_fetches_ = 0;
  uint32_t most_other_optimizers_ = 0;
  int64_t duration_ns_ = 0;
  bool steady_ = false;
};

}  // namespace eroica
