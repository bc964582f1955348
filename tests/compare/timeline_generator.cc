#include "timeline_generator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace eroica {
namespace {

const char* name_of(OpType type) {
  switch (type) {
    case OpType::kForwardCompute:
      return "forward-compute";
    case OpType::kBackwardCompute:
      return "backward-compute";
    case OpType::kForwardSend:
      return "forward-send";
    case OpType::kForwardRecv:
      return "forward-recv";
    case OpType::kBackwardSend:
      return "backward-send";
    case OpType::kBackwardRecv:
      return "backward-recv";
    case OpType::kParamsSync:
      return "params-all-gather";
    case OpType::kGradsSync:
      return "grads-reduce-scatter";
    case OpType::kOther:
      break;
  }
  return "optimizer";
}

struct Computation {
  bool forward;
  int32_t chunk;
  int32_t micro_batch;
};

/// What a stage computes in a step, in order.
std::vector<Computation> schedule(const GeneratedJob& job, int32_t stage) {
  const int32_t total = job.micro_batches * job.chunks;
  const auto at = [&](bool forward, int32_t k) {
    const int32_t round = job.stages * job.chunks;
    const int32_t chunk = job.chunks == 1 ? 0 : k % round / job.stages;
    const int32_t batch = job.chunks == 1 ? k : k / round * job.stages + k % job.stages;
    return Computation{forward, forward ? chunk : job.chunks - 1 - chunk, batch};
  };
  int32_t warm_up = job.stages - 1 - stage;
  if (job.chunks > 1) warm_up = 2 * warm_up + (job.chunks - 1) * job.stages;
  warm_up = std::min(warm_up, total);
  std::vector<Computation> result;
  for (int32_t k = 0; k < warm_up; ++k) result.push_back(at(true, k));
  for (int32_t k = 0; k < total; ++k) {
    if (k + warm_up < total) result.push_back(at(true, k + warm_up));
    result.push_back(at(false, k));
  }
  return result;
}

class StepRun {
 public:
  StepRun(const GeneratedJob& job, int32_t step, OpTimeline& into) : job_(job), step_(step), into_(into) {}

  double run() {
    const auto workers = static_cast<size_t>(job_.dp * job_.stages);
    state_.resize(workers);
    sync(OpType::kParamsSync);
    for (size_t w = 0; w < workers; ++w) state_[w].plan = schedule(job_, stage(w));
    bool moved = true;
    while (moved) {
      moved = false;
      for (size_t w = 0; w < workers; ++w) {
        while (state_[w].next < state_[w].plan.size() && compute(w)) moved = true;
      }
    }
    for (const State& state : state_) {
      if (state.next != state.plan.size()) std::abort();  // the schedule does not fit together
    }
    sync(OpType::kGradsSync);
    int64_t last_ns = 0;
    for (size_t w = 0; w < workers; ++w) {
      const int64_t start_ns = state_[w].now_ns;
      const int64_t end_ns = start_ns + own({dp(w), stage(w), step_, OpType::kOther, 0, 0});
      record(w, OpType::kOther, start_ns, end_ns, 0, -1, -1);
      last_ns = std::max(last_ns, end_ns);
    }
    return static_cast<double>(last_ns);
  }

 private:
  struct State {
    std::vector<Computation> plan;
    size_t next = 0;
    int64_t now_ns = 0;
    std::map<OpType, int64_t> stream_ns;  // when each stream's last transfer ended
    std::map<OpType, int32_t> count;
  };
  struct Sent {
    size_t worker;
    int64_t start_ns;
    int64_t own_ns;
  };

  [[nodiscard]] int32_t dp(size_t w) const { return static_cast<int32_t>(w) / job_.stages; }
  [[nodiscard]] int32_t stage(size_t w) const { return static_cast<int32_t>(w) % job_.stages; }
  [[nodiscard]] int64_t own(const GeneratedOp& op) const { return job_.own_ns(op); }

  void record(size_t w, OpType type, int64_t start_ns, int64_t end_ns, int32_t sequence, int32_t chunk, int32_t batch) {
    const int64_t offset_ns = job_.clocks_differ ? static_cast<int64_t>(w * 7919 % 101) * 50'000'000 : 0;
    into_.worker.push_back(static_cast<uint32_t>(w));
    into_.step.push_back(step_);
    into_.type.push_back(type);
    into_.name.push_back(into_.names.intern(name_of(type)));
    into_.start_ns.push_back(start_ns + offset_ns);
    into_.duration_ns.push_back(end_ns - start_ns);
    into_.sequence.push_back(sequence);
    into_.chunk.push_back(chunk);
    into_.micro_batch.push_back(batch);
  }

  /// A collective over the data-parallel ranks of each stage and chunk.
  void sync(OpType type) {
    for (int32_t chunk = 0; chunk < job_.chunks; ++chunk) {
      for (int32_t s = 0; s < job_.stages; ++s) {
        int64_t ready_ns = 0;
        const auto at = [&](int32_t d) { return static_cast<size_t>(d * job_.stages + s); };
        for (int32_t d = 0; d < job_.dp; ++d) ready_ns = std::max(ready_ns, state_[at(d)].now_ns);
        const int64_t end_ns = ready_ns + own({0, s, step_, type, chunk, 0});
        for (int32_t d = 0; d < job_.dp; ++d) {
          record(at(d), type, state_[at(d)].now_ns, end_ns, chunk, chunk, -1);
          state_[at(d)].now_ns = end_ns;
        }
      }
    }
  }

  /// Runs the worker's next computation if its data was sent.
  bool compute(size_t w) {
    State& state = state_[w];
    const Computation& now = state.plan[state.next];
    const int32_t last_stage = job_.stages - 1;
    const int32_t s = stage(w);
    const bool source = now.forward ? s == 0 && now.chunk == 0 : s == last_stage && now.chunk == job_.chunks - 1;
    int64_t ready_ns = state.now_ns;
    if (!source) {
      const auto sent = sent_.find(std::tuple(w, now.forward, now.chunk, now.micro_batch));
      if (sent == sent_.end()) return false;
      ready_ns = std::max(ready_ns, transfer(w, now.forward, sent->second));
      sent_.erase(sent);
    }
    const int64_t start_ns = ready_ns + (state.next > 0 ? job_.gap_ns : 0);
    const OpType type = now.forward ? OpType::kForwardCompute : OpType::kBackwardCompute;
    const int64_t end_ns = start_ns + own({dp(w), s, step_, type, now.chunk, now.micro_batch});
    record(w, type, start_ns, end_ns, state.count[type]++, now.chunk, now.micro_batch);
    state.now_ns = end_ns;
    ++state.next;

    const bool sink = now.forward ? s == last_stage && now.chunk == job_.chunks - 1 : s == 0 && now.chunk == 0;
    if (!sink) {
      int32_t to = now.forward ? s + 1 : s - 1;
      int32_t chunk = now.chunk;
      if (to > last_stage) to = 0, ++chunk;
      if (to < 0) to = last_stage, --chunk;
      const size_t peer = w - static_cast<size_t>(s) + static_cast<size_t>(to);
      const OpType send = now.forward ? OpType::kForwardSend : OpType::kBackwardSend;
      sent_[{peer, now.forward, chunk, now.micro_batch}] = {w, end_ns,
                                                            own({dp(w), s, step_, send, now.chunk, now.micro_batch})};
    }
    return true;
  }

  /// Both ends of a transfer; when it ends.
  int64_t transfer(size_t receiver, bool forward, const Sent& sent) {
    const OpType send = forward ? OpType::kForwardSend : OpType::kBackwardSend;
    const OpType receive = forward ? OpType::kForwardRecv : OpType::kBackwardRecv;
    State& from = state_[sent.worker];
    State& to = state_[receiver];
    const int64_t posted_ns = job_.receives_late ? std::max(to.now_ns, to.stream_ns[receive]) : to.stream_ns[receive];
    const int64_t send_ns = std::max(sent.start_ns, from.stream_ns[send]);
    const int64_t end_ns = std::max(send_ns, posted_ns) + sent.own_ns;
    record(sent.worker, send, send_ns, end_ns, from.count[send]++, -1, -1);
    record(receiver, receive, posted_ns, end_ns, to.count[receive]++, -1, -1);
    from.stream_ns[send] = to.stream_ns[receive] = end_ns;
    return end_ns;
  }

  const GeneratedJob& job_;
  int32_t step_;
  OpTimeline& into_;
  std::vector<State> state_;
  std::map<std::tuple<size_t, bool, int32_t, int32_t>, Sent> sent_;
};

}  // namespace

GeneratedTimeline generate(const GeneratedJob& job) {
  GeneratedTimeline result;
  for (int32_t d = 0; d < job.dp; ++d) {
    for (int32_t s = 0; s < job.stages; ++s) {
      result.timeline.workers.push_back({.dp = d, .stage = s, .rank = s * job.dp + d});
    }
  }
  for (int32_t step = 0; step < job.steps; ++step) {
    result.step_ns.push_back(StepRun(job, step, result.timeline).run());
  }
  return result;
}

std::string to_csv(const OpTimeline& timeline) {
  std::string text = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  for (size_t i = 0; i < timeline.size(); ++i) {
    const TimelineWorker& who = timeline.workers[timeline.worker[i]];
    text += fmt::format("{},{},{},{},{},{:.9f},{:.9f},{},{},{},-1\n", who.dp, who.stage, who.rank, timeline.step[i],
                        timeline.names.text(timeline.name[i]), static_cast<double>(timeline.start_ns[i]) * 1e-9,
                        static_cast<double>(timeline.duration_ns[i]) * 1e-9, timeline.sequence[i], timeline.chunk[i],
                        timeline.micro_batch[i]);
  }
  return text;
}

}  // namespace eroica
