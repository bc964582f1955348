#include "steps/step_record.h"

#include <algorithm>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr size_t kMostRanks = size_t{1} << 20;
constexpr int64_t kBeganAgain = 16;
constexpr double kTogetherNs = 600e9;
constexpr double kMeanOver = 50;
constexpr double kLongestStepSeconds = 1e6;
constexpr int64_t kLargestNumber = int64_t{1} << 60;

void follow(double& mean, double value) { mean = mean == 0 ? value : mean + (value - mean) * 2 / (kMeanOver + 1); }

}  // namespace

RankState* StepSeries::state_of(int32_t rank) {
  const auto known = places_.find(rank);
  if (known != places_.end()) return &ranks_[known->second];
  if (ranks_.size() >= kMostRanks) return nullptr;
  places_.emplace(rank, static_cast<uint32_t>(ranks_.size()));
  clocks_.emplace_back();
  ++active_;
  return &ranks_.emplace_back(RankState{.rank = rank, .step = -1});
}

void StepSeries::restart(int64_t first_step) {
  if (begun_) ++restarts_;
  begun_ = true;
  front_ = first_step;
  newest_ = first_step - 1;
  for (Open& step : open_) step = {};
  for (Clock& clock : clocks_) clock.ahead = clock.replaced_ns = 0;
}

/// Notes that a rank's numbers went back. True: so did those of most ranks.
bool StepSeries::began_again(Clock& clock, int64_t now_ns) {
  clock.replaced_ns = std::max<int64_t>(now_ns, 1);
  const auto recently = [now_ns](const Clock& one) {
    return one.replaced_ns > 0 && static_cast<double>(now_ns) - static_cast<double>(one.replaced_ns) < kTogetherNs;
  };
  return 2 * static_cast<uint64_t>(std::ranges::count_if(clocks_, recently)) > active_;
}

void StepSeries::leave(int32_t rank) {
  const auto known = places_.find(rank);
  if (known == places_.end()) return;
  RankState& state = ranks_[known->second];
  clocks_[known->second].running = false;
  if (!state.absent) --active_;
  state.absent = true;
  state.left = true;
}

void StepSeries::push(const StepRecord& told, int64_t now_ns, std::vector<JobStep>& done) {
  if (told.step < 0 || told.step > kLargestNumber) return;
  StepRecord record = told;
  RankState* state = state_of(record.rank);
  if (state == nullptr) return;
  Clock& clock = clocks_[static_cast<size_t>(state - ranks_.data())];
  record.step += clock.ahead;
  if (record.step > kLargestNumber) return;
  if (!begun_) {
    restart(record.step);
  } else if (record.step < front_ - kBeganAgain) {
    record.step = told.step;
    if (began_again(clock, now_ns)) {
      restart(record.step);
    } else {
      clock.ahead = newest_ - record.step;
      clock.running = false;
      record.step = newest_;
    }
  }
  state->left = false;
  if (state->absent) {
    state->absent = false;
    ++active_;
  }
  const int64_t gap = record.step - state->step;
  if (clock.running && gap == 0) return;

  const double elapsed = (static_cast<double>(record.monotonic_ns) - static_cast<double>(clock.monotonic_ns)) * 1e-9;
  const bool timed = clock.running && gap > 0 && gap <= kMostOpen && elapsed > 0 && elapsed < kLongestStepSeconds;
  const double each = timed ? elapsed / static_cast<double>(gap) : 0;
  if (timed) {
    follow(state->seconds, each);
    follow(state->data_wait_seconds, static_cast<double>(record.data_wait_ns) * 1e-9);
  }
  clock.monotonic_ns = record.monotonic_ns;
  clock.running = true;
  state->step = record.step;
  state->seen_ns = now_ns;

  if (record.step >= front_ + 2 * kMostOpen) {  // nothing between is known
    while (front_ <= newest_) close_front(done);
    front_ = record.step;
  }
  while (record.step >= front_ + kMostOpen) close_front(done);
  newest_ = std::max(newest_, record.step);
  for (int64_t number = timed ? record.step - gap + 1 : record.step; number <= record.step; ++number) {
    if (number < front_) continue;
    Open& step = open(number);
    ++step.told;
    if (timed) step.seconds.push_back(static_cast<float>(each));
    step.data_wait_seconds += static_cast<double>(record.data_wait_ns) * 1e-9;
    step.fetches = std::max(step.fetches, record.fetches);
    step.unix_ns = std::max(step.unix_ns, record.unix_ns);
    step.now_ns = std::max(step.now_ns, now_ns);
  }
  close_ready(done);
}

void StepSeries::close_front(std::vector<JobStep>& done) {
  Open& step = open(front_);
  if (step.told < active_) {
    for (RankState& state : ranks_) {
      if (state.absent || state.step >= front_) continue;
      state.absent = true;
      --active_;
    }
  }
  if (!step.seconds.empty()) {
    done.push_back({.number = front_,
                    .seconds = static_cast<float>(median_in_place(step.seconds)),
                    .slowest_seconds = std::ranges::max(step.seconds),
                    .data_wait_seconds = step.data_wait_seconds / step.told,
                    .fetches = step.fetches,
                    .ranks = step.told,
                    .unix_ns = step.unix_ns,
                    .now_ns = step.now_ns});
  }
  step.seconds.clear();
  step.data_wait_seconds = 0;
  step.fetches = 0;
  step.told = 0;
  step.unix_ns = 0;
  step.now_ns = 0;
  ++front_;
}

void StepSeries::close_ready(std::vector<JobStep>& done) {
  while (front_ <= newest_ && open(front_).told >= active_) close_front(done);
}

}  // namespace eroica
