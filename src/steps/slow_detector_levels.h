#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace eroica {

/// The median of the last steps, and the lowest that it ever was.
class LevelWatch {
 public:
  explicit LevelWatch(size_t steps) : steps_(steps) {}

  /// Takes a step; the level is renewed every fifth.
  void push(double seconds);
  /// Forgets the steps, not the best level.
  void restart();

  /// As many steps as a level needs were seen since the beginning.
  [[nodiscard]] bool full() const { return recent_.size() == steps_; }
  [[nodiscard]] bool renewed() const { return full() && count_ % kEvery == 0; }
  [[nodiscard]] double level() const { return level_; }
  [[nodiscard]] double best() const { return best_; }
  void keep_as_best() { best_ = level_ < best_ ? level_ : best_; }

 private:
  static constexpr uint64_t kEvery = 5;

  size_t steps_;
  std::vector<float> recent_;  // a ring
  uint64_t count_ = 0;
  double level_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

/// The course of the level over the whole job, in at most 64 parts of equally many steps.
class LevelHistory {
 public:
  void push(double seconds, int64_t place);

  struct Ramp {
    bool gradual = false;  ///< a rise over several parts explains the course better than a jump
    int64_t from = 0;      ///< place where the rise begins
  };
  /// How the level came to be higher than it was at its best.
  [[nodiscard]] Ramp ramp() const;

 private:
  static constexpr size_t kParts = 64;
  struct Part {
    float level = 0;
    int64_t first = 0;
  };

  std::array<Part, kParts> parts_{};
  size_t count_ = 0;
  size_t steps_per_part_ = 10;
  std::array<float, 16> open_{};  // of the open part: every n-th step
  size_t in_open_ = 0;
  size_t steps_in_open_ = 0;
  int64_t open_first_ = 0;
};

}  // namespace eroica
