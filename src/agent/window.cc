#include "agent/window.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kMillisecondNs = 1'000'000;

// A client polls every second, looks at what it got every second, and warms up for one; the fourth is for busy hosts.
constexpr int64_t kLeadNs = 4500 * kMillisecondNs;
constexpr int64_t kLeastLeadNs = 2500 * kMillisecondNs;

// Python stacks of a busy rank take long to write.
constexpr int64_t kFirstWordNs = 30 * kSecondNs;     // from the window's end until a file begins
constexpr int64_t kQuietNs = 15 * kSecondNs;         // a file that does not grow
constexpr int64_t kMostWritingNs = 180 * kSecondNs;  // whatever it does
constexpr int64_t kBehindOthersNs = 20 * kSecondNs;  // once most ranks are there
constexpr int64_t kMostSlewedNs = 2 * kSecondNs;     // what a clock goes back without being set

}  // namespace

WindowPlan plan_window(std::string id, int64_t now_unix_ns, double length_s) {
  WindowPlan plan;
  plan.id = std::move(id);
  plan.asked_unix_ns = now_unix_ns;
  plan.start_unix_ns = (now_unix_ns + kLeadNs) / kMillisecondNs * kMillisecondNs;
  plan.end_unix_ns = plan.start_unix_ns + std::llround(length_s * 1e3) * kMillisecondNs;
  return plan;
}

Window::Window(WindowPlan plan, const std::vector<int32_t>& ranks) : plan_(std::move(plan)) {
  for (const int32_t rank : ranks) ranks_[rank] = {};
}

bool Window::in_time_for_poll(int64_t now_unix_ns) const { return now_unix_ns + kLeastLeadNs <= plan_.start_unix_ns; }

bool Window::is_asked(int32_t rank) const {
  const auto found = ranks_.find(rank);
  return found != ranks_.end() && found->second.phase == RankPhase::kAsked;
}

Window::RankState* Window::waiting_for(int32_t rank) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return nullptr;
  const RankPhase phase = found->second.phase;
  return phase == RankPhase::kAsked || phase == RankPhase::kArmed ? &found->second : nullptr;
}

void Window::armed(int32_t rank) {
  if (RankState* state = waiting_for(rank)) state->phase = RankPhase::kArmed;
}

void Window::growing(int32_t rank, uint64_t bytes, int64_t now_unix_ns) {
  RankState* state = waiting_for(rank);
  if (state == nullptr || bytes <= state->bytes) return;
  state->bytes = bytes;
  state->grew_unix_ns = now_unix_ns;
}

void Window::written(int32_t rank, std::string path, uint64_t bytes) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end() || found->second.phase == RankPhase::kWritten) return;
  found->second.phase = RankPhase::kWritten;  // also of one that has ended since, or was late
  found->second.path = std::move(path);
  found->second.bytes = bytes;
  found->second.why.clear();
}

void Window::failed(int32_t rank, std::string why) {
  RankState* state = waiting_for(rank);
  if (state == nullptr) return;
  state->phase = RankPhase::kFailed;
  state->why = std::move(why);
}

void Window::gone(int32_t rank) {
  RankState* state = waiting_for(rank);
  if (state == nullptr) return;
  state->phase = RankPhase::kGone;
  state->why = "its process ended";
}

void Window::tick(int64_t now_unix_ns) {
  clock_was_set_back_ = clock_was_set_back_ || now_unix_ns < latest_unix_ns_ - kMostSlewedNs;
  latest_unix_ns_ = std::max(latest_unix_ns_, now_unix_ns);
  if (clock_was_set_back_) {
    for (const auto& [rank, state] : ranks_) failed(rank, "the host's clock was set back while the window was taken");
    return;
  }
  if (2 * written_count() > ranks_.size()) {
    if (most_written_unix_ns_ == 0) most_written_unix_ns_ = now_unix_ns;
  }
  for (auto& [rank, state] : ranks_) {
    if (state.phase == RankPhase::kAsked && now_unix_ns > plan_.end_unix_ns) {
      state.phase = RankPhase::kLate;
      state.why = "it did not ask for work";
    }
    if (state.phase != RankPhase::kArmed) continue;
    int64_t deadline = plan_.end_unix_ns + kFirstWordNs;
    if (most_written_unix_ns_ != 0) deadline = std::min(deadline, most_written_unix_ns_ + kBehindOthersNs);
    if (state.grew_unix_ns != 0) deadline = std::max(deadline, state.grew_unix_ns + kQuietNs);
    deadline = std::min(deadline, plan_.end_unix_ns + kMostWritingNs);
    if (now_unix_ns <= deadline) continue;
    state.phase = RankPhase::kLate;
    state.why = state.bytes > 0 ? "its trace was not complete in time" : "it wrote no trace in time";
  }
}

WindowPhase Window::phase(int64_t now_unix_ns) const {
  if (done()) return WindowPhase::kDone;
  if (now_unix_ns >= plan_.end_unix_ns) return WindowPhase::kCollecting;
  if (now_unix_ns >= plan_.start_unix_ns) return WindowPhase::kTracing;
  const bool all = std::ranges::none_of(ranks_, [](const auto& r) { return r.second.phase == RankPhase::kAsked; });
  return all ? WindowPhase::kArmed : WindowPhase::kAsked;
}

bool Window::done() const {
  return std::ranges::none_of(ranks_, [](const auto& rank) {
    return rank.second.phase == RankPhase::kAsked || rank.second.phase == RankPhase::kArmed;
  });
}

size_t Window::written_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(ranks_, [](const auto& rank) { return rank.second.phase == RankPhase::kWritten; }));
}

}  // namespace eroica
