#include "steps/blocked_detector.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr size_t kMostListed = 64;
constexpr double kMeanOver = 50;
constexpr uint64_t kWarmUpSteps = 10;  ///< in which what the first step waited for may come again (compilation, tuning)
constexpr int64_t kBehind = 2;         ///< steps; a rank that waits for the others is at most one behind

double seconds_between(int64_t from_ns, int64_t to_ns) {
  return std::max(0.0, (static_cast<double>(to_ns) - static_cast<double>(from_ns)) * 1e-9);
}

}  // namespace

double BlockedDetector::allowed_s() const {
  if (!begun_) return policy_.first_step_s;
  if (steps_ == 0) return policy_.most_s;
  const double pause_s = steps_ < kWarmUpSteps ? std::max(first_pause_s_, longest_pause_s_) : longest_pause_s_;
  const double allowed =
      std::max({policy_.mean_multiple * mean_step_s_, policy_.least_s, policy_.pause_multiple * pause_s});
  return std::min(allowed, std::max(policy_.most_s, policy_.mean_multiple * mean_step_s_));
}

void BlockedDetector::step(double seconds) {
  ++steps_;
  const double over = std::min(static_cast<double>(steps_), kMeanOver);
  mean_step_s_ += (seconds - mean_step_s_) / over;
}

void BlockedDetector::mask(int64_t from_ns, int64_t to_ns) {
  masked_from_ns_ = from_ns;
  masked_to_ns_ = to_ns;
}

BlockedDetector::Change BlockedDetector::observe(const StepRecord& record, int64_t now_ns) {
  const bool disturbed = last_ns_ < masked_to_ns_ && now_ns > masked_from_ns_;
  // A pause that training came back from by itself was none to tell of, also where it was told.
  if (begun_ && !disturbed) {
    longest_pause_s_ = std::min(policy_.most_s, std::max(longest_pause_s_, seconds_between(last_ns_, now_ns)));
  }
  if (!begun_) first_pause_s_ = std::min(policy_.most_s, seconds_between(last_ns_, now_ns));
  begun_ = true;
  last_ns_ = std::max(last_ns_, now_ns);
  last_unix_ns_ = record.unix_ns;
  if (!blocked_) return Change::kNone;
  blocked_ = false;
  return Change::kRecovered;
}

BlockedDetector::Change BlockedDetector::tick(const std::vector<RankState>& ranks, int64_t now_ns) {
  if (!policy_.enabled || blocked_) return Change::kNone;
  const double allowed = allowed_s();
  const bool masked = now_ns > masked_from_ns_ && now_ns < masked_to_ns_;
  if (!masked && seconds_between(std::max(last_ns_, std::min(masked_to_ns_, now_ns)), now_ns) > allowed) {
    blocked_ = true;
    tell(ranks, now_ns, allowed);
    return Change::kBlocked;
  }
  if (steps_ == 0) return Change::kNone;
  int64_t newest = 0;
  for (const RankState& rank : ranks) newest = std::max(newest, rank.step);
  const bool some = std::ranges::any_of(ranks, [&](const RankState& rank) {
    return rank.step + kBehind < newest && seconds_between(rank.seen_ns, now_ns) > allowed && !rank.left;
  });
  if (some == some_silent_) return Change::kNone;
  some_silent_ = some;
  if (!some) return Change::kRecovered;
  tell(ranks, now_ns, allowed);
  std::erase_if(finding_.ranks, [&](const LastStep& rank) { return rank.step + kBehind >= newest; });
  finding_.all = false;
  finding_.more_ranks = 0;
  if (!finding_.ranks.empty()) {
    const auto ago_ns = static_cast<int64_t>(finding_.ranks.front().silent_s * 1e9);
    finding_.silent_s = finding_.ranks.front().silent_s;
    finding_.since_unix_ns -= now_ns - ago_ns < last_ns_ ? last_ns_ - (now_ns - ago_ns) : 0;
    finding_.since_ns = now_ns - ago_ns;
  }
  return Change::kBlocked;
}

void BlockedDetector::tell(const std::vector<RankState>& ranks, int64_t now_ns, double allowed_s) {
  finding_ = {.all = true,
              .since_ns = last_ns_,
              .since_unix_ns = last_unix_ns_,
              .silent_s = seconds_between(last_ns_, now_ns),
              .allowed_s = allowed_s,
              .mean_step_s = mean_step_s_,
              .longest_pause_s = longest_pause_s_};
  for (const RankState& rank : ranks) {
    if (!rank.left) finding_.ranks.push_back({rank.rank, rank.step, seconds_between(rank.seen_ns, now_ns)});
  }
  std::ranges::sort(finding_.ranks, [](const LastStep& a, const LastStep& b) {
    return std::pair(a.step, a.rank) < std::pair(b.step, b.rank);
  });
  finding_.more_ranks = finding_.ranks.size() - std::min(finding_.ranks.size(), kMostListed);
  finding_.ranks.resize(finding_.ranks.size() - finding_.more_ranks);
}

}  // namespace eroica
