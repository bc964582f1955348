#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eroica {

/// When all ranks are profiled.
struct WindowPlan {
  std::string id;
  int64_t asked_unix_ns = 0;
  int64_t start_unix_ns = 0;
  int64_t end_unix_ns = 0;

  [[nodiscard]] double length_s() const { return static_cast<double>(end_unix_ns - start_unix_ns) * 1e-9; }
};

/// `length_s` long, beginning as soon as all ranks can be ready.
WindowPlan plan_window(std::string id, int64_t now_unix_ns, double length_s);

/// Where one rank is in a window.
enum class RankPhase : uint8_t {
  kAsked,    ///< its next poll gets the configuration
  kArmed,    ///< it has it
  kWritten,  ///< its trace is there
  kFailed,   ///< it said that it could not
  kGone,     ///< its process ended
  kLate,     ///< its deadline has passed
};

enum class WindowPhase : uint8_t { kAsked, kArmed, kTracing, kCollecting, kDone };

/// One window of a job, as a value: who is how far, and when nobody is waited for any longer. All times are wall clock.
class Window {
 public:
  Window(WindowPlan plan, const std::vector<int32_t>& ranks);

  struct RankState {
    RankPhase phase = RankPhase::kAsked;
    std::string path;    ///< of its trace
    std::string why;     ///< it has none
    uint64_t bytes = 0;  ///< written so far
    int64_t grew_unix_ns = 0;
  };

  /// May a rank be told now? Later its profiler would not be ready at the start.
  [[nodiscard]] bool in_time_for_poll(int64_t now_unix_ns) const;
  /// It is time to use other means for ranks that did not poll.
  [[nodiscard]] bool polls_are_over(int64_t now_unix_ns) const { return !in_time_for_poll(now_unix_ns); }
  [[nodiscard]] bool is_asked(int32_t rank) const;

  void armed(int32_t rank);
  /// Its file has so many bytes and is not complete.
  void growing(int32_t rank, uint64_t bytes, int64_t now_unix_ns);
  void written(int32_t rank, std::string path, uint64_t bytes);
  void failed(int32_t rank, std::string why);
  void gone(int32_t rank);
  /// Time passes: ranks whose deadline is over become late. Where somebody set the clock back none of the times means
  /// what it did, and nobody is waited for any longer.
  void tick(int64_t now_unix_ns);
  [[nodiscard]] bool clock_was_set_back() const { return clock_was_set_back_; }

  [[nodiscard]] WindowPhase phase(int64_t now_unix_ns) const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] const WindowPlan& plan() const { return plan_; }
  [[nodiscard]] const std::map<int32_t, RankState>& ranks() const { return ranks_; }
  [[nodiscard]] size_t written_count() const;

 private:
  [[nodiscard]] RankState* waiting_for(int32_t rank);

  WindowPlan plan_;
  std::map<int32_t, RankState> ranks_;
  int64_t most_written_unix_ns_ = 0;  // since when most ranks are there
  int64_t latest_unix_ns_ = 0;        // that it was told
  bool clock_was_set_back_ = false;
};

}  // namespace eroica
