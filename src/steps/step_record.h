#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace eroica {

/// What a rank tells at the end of each step.
struct StepRecord {
  int32_t rank = 0;
  int64_t step = 0;          ///< its number, as the rank counts
  int64_t unix_ns = 0;       ///< end of the step, by the host's wall clock
  int64_t monotonic_ns = 0;  ///< the same by the host's monotonic clock; compared within a rank only
  int64_t data_wait_ns = 0;  ///< time in the dataloader's `__next__` during the step
  uint32_t fetches = 0;      ///< calls of it during the step
  bool operator==(const StepRecord&) const = default;
};

/// One step of the whole job.
struct JobStep {
  int64_t number = 0;
  double seconds = 0;            ///< median over the ranks
  double slowest_seconds = 0;    ///< of any rank
  double data_wait_seconds = 0;  ///< mean over the ranks
  uint32_t fetches = 0;          ///< most of any rank
  uint32_t ranks = 0;            ///< how many told of it
  int64_t unix_ns = 0;           ///< of the latest record of it
  int64_t now_ns = 0;            ///< when that came in, by the clock of whoever collects them
};

/// What is known of a rank now.
struct RankState {
  int32_t rank = 0;
  int64_t step = 0;              ///< the last that it ended
  int64_t seen_ns = 0;           ///< when that came in
  double seconds = 0;            ///< mean step time over about the last 50
  double data_wait_seconds = 0;  ///< the same of its waits for data
  bool absent = false;           ///< it fell silent while the others went on, or left
  bool left = false;             ///< it takes part no longer
};

/// Joins the records of all ranks to the steps of the job.
///
/// A step is complete when every rank that takes part told of it; one that falls more than 8 steps behind the others
/// holds them up no longer. A record that was lost is made up for by the rank's next one: its time counts for both.
/// Where the numbers of most ranks go back by more than 16 steps within ten minutes the job began again; where those of
/// a few do, they were replaced, and count on from the step that the others are at. Memory: constant per rank, for at
/// most a million ranks.
class StepSeries {
 public:
  /// Takes a record that came in at `now_ns`; appends the steps that it completed, in order.
  void push(const StepRecord& told, int64_t now_ns, std::vector<JobStep>& done);
  /// The rank takes part no longer.
  void leave(int32_t rank);

  [[nodiscard]] const std::vector<RankState>& ranks() const { return ranks_; }
  /// How often the job began again.
  [[nodiscard]] uint32_t restarts() const { return restarts_; }

 private:
  struct Open {
    std::vector<float> seconds;
    double data_wait_seconds = 0;
    uint32_t fetches = 0;
    uint32_t told = 0;  // records, also those without a time
    int64_t unix_ns = 0;
    int64_t now_ns = 0;
  };
  struct Clock {
    int64_t monotonic_ns = 0;
    bool running = false;     // the step before was seen
    int64_t ahead = 0;        // of the job's number of a step over the rank's own
    int64_t replaced_ns = 0;  // when the rank's numbers went back; 0: they have not
  };
  static constexpr int64_t kMostOpen = 8;

  RankState* state_of(int32_t rank);
  void restart(int64_t first_step);
  [[nodiscard]] bool began_again(Clock& clock, int64_t now_ns);
  void close_front(std::vector<JobStep>& done);
  void close_ready(std::vector<JobStep>& done);
  Open& open(int64_t number) { return open_[static_cast<uint64_t>(number) % kMostOpen]; }

  std::unordered_map<int32_t, uint32_t> places_;
  std::vector<RankState> ranks_;
  std::vector<Clock> clocks_;
  uint32_t active_ = 0;
  std::array<Open, kMostOpen> open_;
  int64_t front_ = 0;  // the first step that is not closed
  int64_t newest_ = -1;
  bool begun_ = false;
  uint32_t restarts_ = 0;
};

}  // namespace eroica
