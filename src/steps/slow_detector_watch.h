#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "steps/policy.h"
#include "steps/slow_detector_reference.h"

namespace eroica {

/// S = max(0, S + x − allowance), and since when it has not been 0.
class CumulativeSum {
 public:
  void add(double x, double allowance, int64_t place, double most) {
    if (sum_ <= 0) since_ = place;
    sum_ += x - allowance;
    if (sum_ < 0) sum_ = 0;
    if (sum_ > most) sum_ = most;
  }
  void reset() { sum_ = 0; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] int64_t since() const { return since_; }

 private:
  double sum_ = 0;
  int64_t since_ = 0;
};

/// How much more the sum of successive values varies than that of independent ones would: 1 and above.
class VarianceInflation {
 public:
  /// `prior`: the correlation of neighbours that is assumed until they are known; `doubted`: what is known of few of
  /// them is taken for the least of what it may be.
  VarianceInflation(double prior, bool doubted) : prior_(prior), doubted_(doubted) {}
  void add(double value);
  [[nodiscard]] double value() const;

 private:
  static constexpr uint32_t kBlock = 16;
  struct Moments {
    double n = 0;
    double mean = 0;
    double squares = 0;
    void add(double x) {
      n += 1;
      const double from_mean = x - mean;
      mean += from_mean / n;
      squares += from_mean * (x - mean);
    }
  };
  double prior_;
  bool doubted_;
  Moments single_;
  double last_ = 0;
  double products_ = 0;  // of neighbours
  Moments blocks_;
  double block_ = 0;
  uint32_t in_block_ = 0;
};

/// Tells where stalls begin: steps so much longer than the level that they are no part of the usual variation. What
/// follows within two steps belongs to the same stall.
class StallStarts {
 public:
  /// Takes each step; whether a stall begins with it.
  bool push(const StepReference& usual, double seconds);

 private:
  uint32_t since_ = 2;  // usual steps since the last long one
};

/// How often stalls begin: a cumulative sum of likelihood ratios.
class StallFrequencyWatch {
 public:
  void note_order(const StepReference& usual, double seconds);
  void set_limit(const SlowPolicy& policy);
  void watch(const StepReference& usual, double seconds, int64_t place);
  void reset() { sum_.reset(); }
  [[nodiscard]] const CumulativeSum& sum() const { return sum_; }
  [[nodiscard]] double limit() const { return limit_; }

 private:
  StallStarts learned_;
  StallStarts watched_;
  double stalls_ = 0;
  double steps_ = 0;
  VarianceInflation inflation_{0, false};
  CumulativeSum sum_;
  double stall_ = 0;     // what one adds
  double no_stall_ = 0;  // what a step without one takes away
  double limit_ = 0;
};

/// The time lost to long steps. Those in a row are one stall, and a single stall is no slowdown: it counts at most
/// as much as a single step may.
class LostTimeWatch {
 public:
  void note_order(const StepReference& usual, double seconds) { inflation_.add(usual.excess(seconds)); }
  void set_limit(const StepReference& usual, const SlowPolicy& policy);
  void watch(const StepReference& usual, double seconds, int64_t place);
  void reset();
  [[nodiscard]] const CumulativeSum& sum() const { return sum_; }
  [[nodiscard]] double limit() const { return limit_; }

 private:
  VarianceInflation inflation_{0.2, false};
  CumulativeSum sum_;
  double charged_ = 0;  // for the present run of long steps
  uint32_t since_long_ = 0;
  double allowance_ = 0;
  double limit_ = 0;
};

/// Steps against what they usually take: a rank-based sum for lasting shifts, one of the time lost to long steps, and
/// one of how often they come.
class UsualWatch {
 public:
  explicit UsualWatch(const SlowPolicy& policy) : policy_(policy) {}

  /// Takes a usual step.
  void learn(double seconds) { usual_.add(seconds); }
  /// Takes into account how steps follow on each other; those that were learned, in their order.
  void note_order(double seconds);
  /// Judges a step; places are counted by the caller. Needs some steps to have been learned.
  void watch(double seconds, int64_t place);
  /// Forgets what was held against the job, not what is usual.
  void reset();

  [[nodiscard]] const StepReference& usual() const { return usual_; }
  [[nodiscard]] const CumulativeSum& shift() const { return shift_; }
  [[nodiscard]] double shift_limit() const { return shift_limit_; }
  [[nodiscard]] const LostTimeWatch& lost() const { return lost_; }
  [[nodiscard]] const StallFrequencyWatch& frequency() const { return frequency_; }
  /// The step at that place does not belong to what looks unusual at present.
  [[nodiscard]] bool looks_usual(int64_t place) const;
  /// Standard error of a median of so many steps.
  [[nodiscard]] double level_error(size_t steps) const;

 private:
  void refresh_limits();

  SlowPolicy policy_;
  StepReference usual_;
  VarianceInflation inflation_{0.2, true};  // of scores
  CumulativeSum shift_;
  double shift_allowance_ = 0;
  double shift_limit_ = 0;
  LostTimeWatch lost_;
  StallFrequencyWatch frequency_;
  uint64_t limits_of_ = 0;  // version of usual_
  size_t limits_size_ = 0;
};

}  // namespace eroica
