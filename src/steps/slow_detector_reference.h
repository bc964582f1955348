#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eroica {

/// How a healthy job's steps are distributed: a bounded sample of them, each of them all equally likely to be in it.
class StepReference {
 public:
  static constexpr size_t kMost = 512;
  /// What a single step may count at most as lost time, in levels.
  static constexpr double kMostExcess = 2;

  void add(double seconds);
  void clear();

  [[nodiscard]] size_t size() const { return sorted_.size(); }
  /// Median.
  [[nodiscard]] double level() const;
  /// Standard deviation that the median absolute deviation stands for; at least a 10,000th of the level.
  [[nodiscard]] double sigma() const { return sigma_; }
  /// Normal score of where the step stands among the healthy ones: standard normal for a healthy step whatever the
  /// distribution, at most about 3.
  [[nodiscard]] double score(double seconds) const;
  /// How much longer than the level, in levels, within [−0.5, most].
  [[nodiscard]] double excess(double seconds, double most = kMostExcess) const;
  /// Mean of excess() over the healthy steps.
  [[nodiscard]] double mean_excess() const { return mean_excess_; }
  [[nodiscard]] double sigma_excess() const { return sigma_excess_; }
  /// Mean seconds of the healthy steps.
  [[nodiscard]] double mean_seconds() const { return level() * (1 + mean_excess_); }

  [[nodiscard]] const std::vector<float>& sorted() const { return sorted_; }
  /// Changes whenever the sample does.
  [[nodiscard]] uint64_t version() const { return version_; }

 private:
  void refresh();

  std::vector<float> sorted_;
  uint64_t seen_ = 0;
  uint64_t version_ = 0;
  double sigma_ = 0;
  double mean_excess_ = 0;
  double sigma_excess_ = 0;
};

/// What a cumulative sum S = max(0, S + x − allowance) over healthy steps must not reach more often than once in
/// `every_steps`: `values` are what x is for healthy steps, `unseen` a value that one more of them may have.
/// From Lundberg's exponent θ, with E exp(θ(x − allowance)) = 1: ln(every_steps) / θ. A large number where the
/// allowance is not above the mean.
double cusum_limit(const std::vector<float>& values, double unseen, double allowance, double every_steps);

/// Quantile of the standard normal distribution, p in (0, 1).
double normal_quantile(double p);

}  // namespace eroica
