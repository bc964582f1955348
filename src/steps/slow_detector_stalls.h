#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace eroica {

/// Long steps that come at a regular spacing.
struct StallTrain {
  double period_steps = 0;
  double lost_levels = 0;  ///< of each stall, in usual steps
  int64_t first = 0;       ///< place of the first of them
  uint32_t count = 0;
  double lost_before = 0;      ///< by all stalls before the first of them
  uint32_t stalls_before = 0;  ///< how many those were
  /// How probable so regular a train is by chance, at any one step, where stalls come as often as before.
  [[nodiscard]] double chance(double steps_before) const;
  [[nodiscard]] double lost_share() const { return lost_levels / period_steps; }
};

/// Finds them. Stalls that two usual steps or fewer lie between are one.
class StallWatch {
 public:
  /// Takes each step: its place, and how much longer than usual it took, in usual steps.
  void push(int64_t place, double excess, double least_excess);
  /// The train that the last four stalls or more belong to, if they make one.
  [[nodiscard]] std::optional<StallTrain> train() const;
  void reset() { *this = {}; }

 private:
  struct Stall {
    int64_t place = 0;  // of its first step
    int64_t last = 0;
    double lost = 0;
    double lost_before = 0;  // by those before
    uint32_t stalls_before = 0;
  };
  static constexpr size_t kKept = 8;

  [[nodiscard]] const Stall& back(size_t i) const { return stalls_[(count_ - 1 - i) % kKept]; }

  std::array<Stall, kKept> stalls_{};
  size_t count_ = 0;
  int64_t train_first_ = 0;
  double lost_before_train_ = 0;
  uint32_t stalls_before_train_ = 0;
  double lost_ = 0;
  uint32_t train_count_ = 0;
};

}  // namespace eroica
