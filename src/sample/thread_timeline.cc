#include "sample/thread_timeline.h"

#include <algorithm>
#include <utility>

namespace eroica {
namespace {

constexpr int64_t kMostUnplacedNs = 10'000'000;
constexpr size_t kMostOthers = 4096;

int64_t growth(uint64_t now, uint64_t before) { return now > before ? static_cast<int64_t>(now - before) : 0; }

}  // namespace

void ThreadTimeline::end_stretch(int64_t end_ns, State was, pid_t last_other) {
  const int64_t begin_ns = stretches_.empty() ? told_ns_ : stretches_.back().end_ns;
  if (end_ns <= begin_ns) return;
  stretches_.push_back({end_ns, was, first_other_, last_other, 0});
}

void ThreadTimeline::add(const Switch& one) {
  const bool is_on = one.kind == Switch::Kind::kOn;
  const bool was_on = state_ == State::kRuns;
  if (state_ == State::kUnknown) {
    end_stretch(one.at_ns, is_on ? State::kOff : State::kRuns, -1);
  } else if (is_on == was_on) {
    is_damaged_ = true;  // one between them is missing
  } else {
    end_stretch(one.at_ns, state_, one.other_pid);
  }
  state_ = is_on ? State::kRuns : one.kind == Switch::Kind::kPreempted ? State::kPreempted : State::kOff;
  first_other_ = is_on ? -1 : one.other_pid;
}

void ThreadTimeline::book(int64_t now_ns, const SchedStat& booked) {
  if (state_ == State::kRuns) end_stretch(now_ns, State::kRuns, -1);
  if (booked_) {
    const int64_t wait_ns = growth(booked.wait_ns, booked_->wait_ns);
    if (is_damaged_ && now_ns > told_ns_) {
      stretches_.clear();
      const auto passed = static_cast<double>(now_ns - told_ns_);
      const double run = std::min(1.0, static_cast<double>(growth(booked.run_ns, booked_->run_ns)) / passed);
      tell(now_ns, run, 0, std::min(1.0 - run, static_cast<double>(wait_ns) / passed));
      unplaced_wait_ns_ = 0;
      is_damaged_ = false;
    } else {
      place_waits(wait_ns);
      tell_stretches();
    }
  }
  if (!booked_) first_run_ns_ = booked.run_ns;
  booked_ = booked;
}

/// Shares out what was waited after waking up: alike for each time off the CPU, as far as that is long enough.
void ThreadTimeline::place_waits(int64_t wait_ns) {
  int64_t begin_ns = told_ns_;
  std::vector<std::pair<int64_t, size_t>> offs;  // how long
  for (size_t i = 0; i < stretches_.size(); ++i) {
    const int64_t length_ns = stretches_[i].end_ns - begin_ns;
    begin_ns = stretches_[i].end_ns;
    if (stretches_[i].state == State::kPreempted) wait_ns -= length_ns;
    if (stretches_[i].state == State::kOff) offs.emplace_back(length_ns, i);
  }
  // What was booked between the switches and the reading of the books belongs to switches that follow.
  wait_ns += unplaced_wait_ns_;
  std::sort(offs.begin(), offs.end());
  int64_t left_ns = std::max<int64_t>(0, wait_ns);
  for (size_t i = 0; i < offs.size(); ++i) {
    const int64_t share_ns = std::min(offs[i].first, left_ns / static_cast<int64_t>(offs.size() - i));
    stretches_[offs[i].second].wakeup_wait_ns = share_ns;
    left_ns -= share_ns;
    wait_ns -= share_ns;
  }
  unplaced_wait_ns_ = std::clamp(wait_ns, -kMostUnplacedNs, kMostUnplacedNs);
}

void ThreadTimeline::tell_stretches() {
  for (const Stretch& stretch : stretches_) {
    const int64_t length_ns = stretch.end_ns - told_ns_;
    switch (stretch.state) {
      case State::kRuns:
        tell(stretch.end_ns, 1, 0, 0);
        break;
      case State::kPreempted:
        charge(stretch.first_other, length_ns / 2);
        charge(stretch.last_other, length_ns - length_ns / 2);
        tell(stretch.end_ns, 0, 1, 0);
        break;
      default:
        charge(stretch.last_other, stretch.wakeup_wait_ns);
        tell(stretch.end_ns - stretch.wakeup_wait_ns, 0, 0, 0);
        tell(stretch.end_ns, 0, 0, 1);
    }
  }
  stretches_.clear();
}

void ThreadTimeline::charge(pid_t other, int64_t ns) {
  if (other <= 0 || ns <= 0 || (waited_for_.size() >= kMostOthers && !waited_for_.contains(other))) return;
  waited_for_[other] += ns;
}

/// It did so until then.
void ThreadTimeline::tell(int64_t end_ns, double run, double preempted, double wakeup_wait) {
  while (told_ns_ < end_ns) {
    const int64_t whole_ns = (end_ns - told_ns_) / bin_ns_ * bin_ns_;
    if (told_ns_ == bin_begin_ns_ && whole_ns > 0) {
      told_ns_ = bin_begin_ns_ = told_ns_ + whole_ns;
      shares_.push_back({told_ns_, run, preempted, wakeup_wait});
      continue;
    }
    const int64_t part_end_ns = std::min(end_ns, bin_begin_ns_ + bin_ns_);
    const auto part = static_cast<double>(part_end_ns - told_ns_);
    bin_.run += part * run;
    bin_.preempted += part * preempted;
    bin_.wakeup_wait += part * wakeup_wait;
    told_ns_ = part_end_ns;
    if (part_end_ns == bin_begin_ns_ + bin_ns_) end_bin(part_end_ns);
  }
}

void ThreadTimeline::end_bin(int64_t end_ns) {
  const auto length = static_cast<double>(end_ns - bin_begin_ns_);
  if (length <= 0) return;
  shares_.push_back({end_ns, bin_.run / length, bin_.preempted / length, bin_.wakeup_wait / length});
  bin_ = {};
  bin_begin_ns_ = end_ns;
}

void ThreadTimeline::finish(int64_t now_ns) {
  if (state_ == State::kUnknown) {
    // It did not switch at all.
    const bool ran = booked_ && growth(booked_->run_ns, first_run_ns_) >= (now_ns - told_ns_) / 2;
    state_ = ran ? State::kRuns : State::kOff;
  }
  end_stretch(now_ns, state_, -1);
  tell_stretches();
  end_bin(told_ns_);
}

std::vector<ThreadShares> ThreadTimeline::take() { return std::exchange(shares_, {}); }

}  // namespace eroica
