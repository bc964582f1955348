#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/datagram_socket.h"
#include "agent/fabric.h"
#include "agent/nccl_ring_reader.h"
#include "agent/rank_table.h"
#include "agent/stack_sampler.h"
#include "agent/watch_news.h"
#include "agent/window.h"
#include "agent/window_sampler.h"
#include "steps/policy.h"

namespace eroica {

/// Takes one window of a job after the other: tells the ranks, and collects their files.
class WindowRunner {
 public:
  /// `sockets`, `traces`: the job's folders. `probes` must outlive this.
  WindowRunner(std::string job, std::string sockets, std::string traces, const DatagramSocket& probes,
               const WindowPolicy& policy)
      : job_(std::move(job)),
        sockets_(std::move(sockets)),
        traces_(std::move(traces)),
        probes_(&probes),
        policy_(policy) {}

  [[nodiscard]] bool active() const { return window_.has_value(); }
  /// At most `length_s` long: shorter where a rank would write more than the policy allows, as told by its last window.
  /// False when there is nobody to profile, or no place to write.
  bool begin(const RankTable& ranks, double length_s, const DetectorEvent& cause, int64_t now_unix_ns);
  [[nodiscard]] const WindowPlan& plan() const { return window_->plan(); }
  /// Only while active.
  [[nodiscard]] WindowPhase phase(int64_t now_unix_ns) const { return window_->phase(now_unix_ns); }

  /// What to answer a rank that polls; empty: nothing to do.
  [[nodiscard]] std::string configuration_for(const LiveRank& rank, int64_t now_unix_ns) const;
  /// The rank has the answer.
  void armed(int32_t rank) { window_->armed(rank); }
  void reply(int32_t rank, const ReplyMessage& reply);
  void edge(int32_t rank, const EdgeMessage& edge);
  void gone(int32_t rank);
  /// Time passes. The window, once it is over.
  std::optional<WindowTaken> tick(const RankTable& ranks, int64_t now_unix_ns);

 private:
  void profile_inside(const RankTable& ranks, int64_t now_unix_ns);
  void look_for_files(int64_t now_unix_ns);
  [[nodiscard]] bool with_stack(int32_t rank) const {
    return policy_.stacks == PythonStacks::kTrace && !hot_.contains(rank);
  }
  [[nodiscard]] bool with_shapes(const LiveRank& rank) const;
  void begin_sampling_stacks(const WindowPlan& plan, const RankTable& ranks, const std::vector<int32_t>& present);
  void look_for_hot_ranks();
  void learn_rates();
  void write_bundle(const RankTable& ranks);
  void tell(const LiveRank& rank, const std::string& command);

  std::string job_;
  std::string sockets_;
  std::string traces_;
  const DatagramSocket* probes_;
  WindowPolicy policy_;
  std::set<int32_t> hot_;                       ///< whose Python calls so much that stacks are too many
  std::map<int32_t, double> bytes_per_second_;  ///< that a rank wrote in its last window of the same kind
  uint32_t count_ = 0;
  std::optional<Window> window_;
  GpuFeeds gpus_;  ///< empty before the first window; they stay, since starting them takes long
  std::unique_ptr<WindowSampler> sampler_;
  std::unique_ptr<StackSampler> stack_sampler_;  ///< nullptr: no rank is sampled
  std::unique_ptr<NcclRingReader> nccl_reader_;  ///< nullptr: the window is not over
  std::string folder_;
  DetectorEvent cause_;
  bool told_rest_ = false;
  int64_t step_at_end_ = -1;  // the last one of any rank when the window ended
  std::map<int32_t, WindowEdges> edges_;
  std::vector<std::string> notes_;
};

}  // namespace eroica
