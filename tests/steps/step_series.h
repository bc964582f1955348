#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "steps/detector.h"

namespace eroica::testing {

/// Random numbers that are the same with every standard library.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  double uniform() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
  }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  uint64_t state_;
};

/// Step times of a job: `seconds` long on average, with lognormal noise.
inline std::vector<double> steps_of(uint64_t seed, size_t count, double seconds, double sigma,
                                    const std::function<double(size_t, double)>& change = {}) {
  Draw draw(seed);
  std::vector<double> steps(count);
  for (size_t k = 0; k < count; ++k) {
    const double step = seconds * std::exp(sigma * draw.normal());
    steps[k] = change ? change(k, step) : step;
  }
  return steps;
}

/// What a detector says about them, told by `ranks` ranks in step.
struct Heard {
  std::vector<DetectorEvent> events;

  [[nodiscard]] size_t count(DetectorEvent::Kind kind) const {
    return static_cast<size_t>(std::ranges::count(events, kind, &DetectorEvent::kind));
  }
  [[nodiscard]] const DetectorEvent* first(DetectorEvent::Kind kind) const {
    const auto found = std::ranges::find(events, kind, &DetectorEvent::kind);
    return found == events.end() ? nullptr : &*found;
  }
};

class Listener {
 public:
  explicit Listener(const Policy& policy = {}, const std::string& job = "job") : detector_(policy, job, kStart) {}

  void step(double seconds, int32_t ranks = 1, uint32_t fetches = 1) {
    now_ns_ += static_cast<int64_t>(seconds * 1e9);
    for (int32_t rank = 0; rank < ranks; ++rank) record(rank, number_, fetches);
    ++number_;
  }
  void record(int32_t rank, int64_t number, uint32_t fetches = 1) {
    detector_.observe({.rank = rank,
                       .step = number,
                       .unix_ns = now_ns_ + kUnix,
                       .monotonic_ns = now_ns_ + rank * 1'000'000'007LL,
                       .data_wait_ns = 1'000'000,
                       .fetches = fetches},
                      now_ns_, heard_.events);
  }
  void silence(double seconds) {
    for (double at = 0; at < seconds; at += 1) {
      now_ns_ += 1'000'000'000;
      detector_.tick(now_ns_, heard_.events);
    }
  }
  void go_on_from(int64_t number) { number_ = number; }
  Detector& detector() { return detector_; }
  const Heard& heard() const { return heard_; }
  int64_t now_ns() const { return now_ns_; }

 private:
  static constexpr int64_t kStart = 1'000'000'000;
  static constexpr int64_t kUnix = 1'790'000'000'000'000'000;
  Detector detector_;
  Heard heard_;
  int64_t now_ns_ = kStart;
  int64_t number_ = 0;
};

inline Heard listen(const std::vector<double>& steps, const Policy& policy = {}, int32_t ranks = 1) {
  Listener listener(policy);
  for (const double step : steps) listener.step(step, ranks);
  return listener.heard();
}

}  // namespace eroica::testing
