#include "simulate/engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>

#include "simulate/core_clock.h"
#include "simulate/physics.h"
#include "simulate/random.h"
#include "simulate/transfer_time.h"

namespace eroica {
namespace {

constexpr int kQueueDepth = 1000;  // launches that the driver takes before it blocks
constexpr int64_t kLaunchLatencyNs = 2600;
constexpr int64_t kKernelGapNs = 1050;
constexpr int64_t kWakeNs = 2300;
constexpr int64_t kHangNs = 3'000'000'000;  // what the window still shows of a hang

enum class Event : uint8_t { kHost, kStream, kKernelEnd, kMeetEnd };

struct Happening {
  int64_t t;
  uint64_t order;
  Event event;
  int rank;
  uint32_t index;
  bool operator>(const Happening& other) const { return t != other.t ? t > other.t : order > other.order; }
};

struct Lane {
  std::vector<int32_t> queue;
  size_t head = 0;
  bool busy = false;
  int64_t last_end_ns = 0;
};

/// One collective on its way: who has come.
struct Meeting {
  std::vector<std::pair<int, int32_t>> members;  // rank, kernel
  size_t expected = 0;
  bool mismatch = false;
};

struct Host {
  size_t pc = 0;
  int thread = 0;
  std::array<std::vector<int32_t>, 2> open;  // spans, by thread
  int32_t blocked_on = kNoKernel;
  int32_t sync_span = -1;
  int64_t blocked_since = -1;
  bool queue_full = false;
  int outstanding = 0;
  bool gone = false;
  int batches = 0;
  std::vector<int64_t> consumed_ns;
  std::vector<int64_t> worker_free_ns;
  int launches = 0;
  int32_t last_on_compute = kNoKernel;
};

class Engine {
 public:
  Engine(const Plant& plant, const JobProgram& program, double batch_load_ns)
      : plant_(plant), program_(program), batch_load_ns_(batch_load_ns) {}

  Timeline run();

 private:
  void at(int64_t t, Event event, int rank, uint32_t index = 0) { queue_.push({t, order_++, event, rank, index}); }
  void host(int rank, int64_t t);
  /// Returns when the host goes on; −1: not by itself.
  int64_t perform(int rank, const Instruction& step, int64_t t);
  int64_t launch(int rank, const Instruction& step, int64_t t);
  int64_t fetch(int rank, int64_t t);
  int64_t driver_ns(int rank, int64_t ns);
  void stream(int rank, uint32_t lane, int64_t t);
  void start(int rank, uint32_t lane, int32_t kernel, int64_t t);
  int64_t kernel_end(int rank, const Kernel& kernel, int64_t t);
  void arrive(int rank, int32_t kernel, int64_t t);
  void begin_transfer(const Meeting& meeting, int64_t t);
  void kernel_done(int rank, int32_t kernel, int64_t t);
  void close_open_spans();
  int32_t open_span(int rank, HostSpan span);

  const Plant& plant_;
  const JobProgram& program_;
  double batch_load_ns_;
  Timeline out_;
  std::vector<Host> hosts_;
  std::vector<CoreClock> cores_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<std::vector<char>> done_;
  std::vector<std::vector<int64_t>> ready_ns_;
  std::map<std::array<uint32_t, 3>, Meeting> meetings_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> queue_;
  uint64_t order_ = 0;
  std::vector<Random> noise_;
};

int32_t Engine::open_span(int rank, HostSpan span) {
  Host& host = hosts_[rank];
  auto& spans = out_.ranks[rank].spans;
  span.thread = static_cast<uint8_t>(host.thread);
  span.parent = host.open[host.thread].empty() ? -1 : host.open[host.thread].back();
  spans.push_back(span);
  return static_cast<int32_t>(spans.size() - 1);
}

int64_t Engine::driver_ns(int rank, int64_t ns) {
  const PlantProcess& process = plant_.processes[rank];
  return static_cast<int64_t>(static_cast<double>(ns) * process.driver_calls + process.call_overhead_us * 1e3);
}

int64_t Engine::launch(int rank, const Instruction& step, int64_t t) {
  Host& host = hosts_[rank];
  const PlantProcess& process = plant_.processes[rank];
  const bool fresh = host.blocked_since < 0;
  const int64_t begin = fresh ? t : host.blocked_since;
  if (host.outstanding >= kQueueDepth) {
    host.blocked_since = begin;
    host.queue_full = true;
    return -1;
  }
  if (!fresh) cores_[rank].note(begin, t, HostActivity::kSpin);
  host.blocked_since = -1;
  CoreClock& core = cores_[rank];
  int64_t end = core.work(t, driver_ns(rank, step.ns));
  if (process.driver_jitter > 0 && noise_[rank].chance(process.driver_jitter)) {
    const auto held = static_cast<int64_t>(noise_[rank].uniform(60e3, 420e3));
    core.note(end, end + held, HostActivity::kSleep);
    end += held;
  }
  if (process.stall_per_launch_us > 0 && ++host.launches % process.stall_every == 0) {
    end = core.work(end, static_cast<int64_t>(process.stall_per_launch_us * 1e3 * noise_[rank].lognormal(0.5)));
  }
  HostSpan span{.start_ns = begin, .end_ns = end, .name = step.name, .span = SpanKind::kRuntime, .step = step.step};
  span.kernel = static_cast<int32_t>(step.index);
  open_span(rank, span);
  const Kernel& kernel = program_.ranks[rank].kernels[step.index];
  ready_ns_[rank][step.index] = end + kLaunchLatencyNs;
  lanes_[rank][kernel.lane].queue.push_back(static_cast<int32_t>(step.index));
  if (kernel.lane == 0) host.last_on_compute = static_cast<int32_t>(step.index);
  ++host.outstanding;
  at(end + kLaunchLatencyNs, Event::kStream, rank, kernel.lane);
  return end;
}

int64_t Engine::fetch(int rank, int64_t t) {
  Host& host = hosts_[rank];
  const PlantProcess& process = plant_.processes[rank];
  const int workers = plant_.job.workers;
  const int batch = host.batches++;
  Random random(plant_.job.seed, "batch", static_cast<uint64_t>(rank) << 32 | static_cast<uint64_t>(batch));
  const int ahead = workers * plant_.job.prefetch;
  const int worker = batch % workers;
  int64_t begin = host.worker_free_ns[worker];
  if (batch >= ahead) begin = std::max(begin, host.consumed_ns[batch - ahead]);
  const double load = batch_load_ns_ * process.load * random.lognormal(0.08);
  // The queue was full before the window, but a starved one is not.
  const bool before = batch < ahead && process.load <= 1;
  const int64_t end = before ? begin : begin + static_cast<int64_t>(load);
  host.worker_free_ns[worker] = end;
  if (end > begin) out_.ranks[rank].workers.push_back({worker, begin, end});
  const int64_t got = std::max(t, end);
  host.consumed_ns.push_back(got);
  if (got > t) cores_[rank].note(t, got, HostActivity::kSleep);
  return got;
}

int64_t Engine::perform(int rank, const Instruction& step, int64_t t) {
  Host& host = hosts_[rank];
  CoreClock& core = cores_[rank];
  RankTimeline& out = out_.ranks[rank];
  switch (step.what) {
    case Do::kBegin: {
      HostSpan span{.start_ns = t, .end_ns = -1, .name = step.name, .span = step.span, .step = step.step};
      span.dims = step.index;
      span.collective = step.collective;
      const int32_t index = open_span(rank, span);
      host.open[host.thread].push_back(index);
      return t;
    }
    case Do::kEnd:
      out.spans[host.open[host.thread].back()].end_ns = t;
      host.open[host.thread].pop_back();
      return t;
    case Do::kWork:
      return host.thread == 0 ? core.interpreted(t, step.ns) : core.work(t, step.ns);
    case Do::kPause:
      return core.pause(t, step.ns);
    case Do::kIo:
      core.note(t, t + step.ns, HostActivity::kStorage);
      return t + step.ns;
    case Do::kDriver: {
      const int64_t end = core.work(t, driver_ns(rank, step.ns));
      HostSpan span{.start_ns = t, .end_ns = end, .name = step.name, .span = SpanKind::kRuntime, .step = step.step};
      open_span(rank, span);
      return end;
    }
    case Do::kLaunch:
      return launch(rank, step, t);
    case Do::kSync: {
      const int32_t target = host.last_on_compute;
      HostSpan span{.start_ns = t, .end_ns = -1, .name = step.name, .span = SpanKind::kRuntime, .step = step.step};
      if (step.name != 0) host.sync_span = open_span(rank, span);
      if (target == kNoKernel || done_[rank][target] != 0) {
        const int64_t end = core.work(t, 1500);
        if (host.sync_span >= 0) out.spans[host.sync_span].end_ns = end;
        host.sync_span = -1;
        return end;
      }
      host.blocked_on = target;
      host.blocked_since = t;
      return -1;
    }
    case Do::kFetch:
    case Do::kFetchEnd:
      return fetch(rank, t);
    case Do::kThread:
      host.thread = static_cast<int>(step.index);
      return core.work(t, 6000);
    case Do::kStep:
      out.step_start_ns.push_back(t);
      return t;
    case Do::kHang:
      host.gone = true;
      core.note(t, t + kHangNs * 2, HostActivity::kSleep);
      return -1;
    case Do::kStop:
      host.gone = true;
      out.stopped_ns = t;
      return -1;
    case Do::kDie:
      host.gone = true;
      out.died_ns = t;
      return -1;
  }
  return t;
}

void Engine::host(int rank, int64_t t) {
  Host& host = hosts_[rank];
  const auto& instructions = program_.ranks[rank].instructions;
  int64_t now = t;
  while (host.pc < instructions.size() && !host.gone) {
    const int64_t next = perform(rank, instructions[host.pc], now);
    if (next < 0) {
      if (!host.queue_full) ++host.pc;
      return;
    }
    ++host.pc;
    if (next > now && !queue_.empty() && queue_.top().t < next) {
      at(next, Event::kHost, rank);
      return;
    }
    now = next;
  }
}

int64_t Engine::kernel_end(int rank, const Kernel& kernel, int64_t t) {
  const GpuState& gpu = plant_.gpus[rank];
  auto ns = static_cast<double>(kernel.ns);
  if (kernel.kind == KernelKind::kCompute) {
    const double clock = plant_.job.silicon[rank] * clock_factor(plant_, rank, t) * gpu.hidden_speed;
    ns *= kernel.bound_by_clock / clock + (1 - kernel.bound_by_clock) / gpu.memory;
    for (size_t lane = 1; lane < lanes_[rank].size(); ++lane) {
      if (!lanes_[rank][lane].busy) continue;
      ns *= 1 + plant_.processes[rank].overlap_cost;
      break;
    }
  } else {
    double rate = gpu.pcie;
    if (gpu.pcie_jitter > 0) rate *= 1 - gpu.pcie_jitter * noise_[rank].uniform();
    ns /= rate;
    if (plant_.processes[rank].remote_numa > 0.3) ns *= 1.9;
  }
  if (gpu.ecc_per_s > 0 && noise_[rank].chance(0.002)) ns += noise_[rank].uniform(0.2e6, 0.9e6);
  return gpu_slices(plant_, rank).end_of(t, static_cast<int64_t>(ns));
}

void Engine::stream(int rank, uint32_t lane_index, int64_t t) {
  Lane& lane = lanes_[rank][lane_index];
  const int64_t died = out_.ranks[rank].died_ns;
  if (lane.busy || lane.head == lane.queue.size() || (died >= 0 && t >= died)) return;
  const int32_t kernel = lane.queue[lane.head];
  if (ready_ns_[rank][kernel] > t) return;  // its own event comes
  for (const int32_t before : program_.ranks[rank].kernels[kernel].after) {
    if (before != kNoKernel && done_[rank][before] == 0) return;
  }
  if (t < lane.last_end_ns + kKernelGapNs) {
    at(lane.last_end_ns + kKernelGapNs, Event::kStream, rank, lane_index);
    return;
  }
  lane.busy = true;
  ++lane.head;
  start(rank, lane_index, kernel, t);
}

void Engine::start(int rank, uint32_t, int32_t index, int64_t t) {
  const Kernel& kernel = program_.ranks[rank].kernels[index];
  out_.ranks[rank].kernels[index].start_ns = t;
  if (kernel.kind == KernelKind::kCollective) {
    arrive(rank, index, t);
  } else {
    at(kernel_end(rank, kernel, t), Event::kKernelEnd, rank, index);
  }
}

void Engine::arrive(int rank, int32_t index, int64_t t) {
  const RankProgram& program = program_.ranks[rank];
  const CollectiveCall& call = program.calls[program.kernels[index].collective];
  Meeting& meeting = meetings_[{call.communicator, call.channel, call.match}];
  meeting.expected = call.channel != 0 ? 2 : program_.communicators[call.communicator].ranks.size();
  if (!meeting.members.empty()) {
    const auto [other, kernel] = meeting.members.front();
    const CollectiveCall& first = program_.ranks[other].calls[program_.ranks[other].kernels[kernel].collective];
    const bool pairs = call.channel != 0;
    meeting.mismatch |= !pairs && (first.kind != call.kind || (first.in_elements != call.in_elements &&
                                                               program_.names.text(call.kind) != "all_to_allv"));
  }
  meeting.members.emplace_back(rank, index);
  if (meeting.members.size() == meeting.expected && !meeting.mismatch) begin_transfer(meeting, t);
}

void Engine::begin_transfer(const Meeting& meeting, int64_t t) {
  std::vector<int> ranks;
  double bytes = 0;
  CollectiveCall call;
  for (const auto& [rank, kernel] : meeting.members) {
    ranks.push_back(rank);
    const CollectiveCall& own = program_.ranks[rank].calls[program_.ranks[rank].kernels[kernel].collective];
    bytes = std::max(bytes, own.wire_bytes);
    call = own;
  }
  call.wire_bytes = bytes;
  const uint64_t place = hash_combine(static_cast<uint64_t>(call.communicator) << 16 | call.channel, call.match);
  Random random(plant_.job.seed, "transfer", place);
  const TransferTime time = transfer_time(plant_, ranks, call, t,
                                          random.lognormal(0.015) + (random.chance(0.01) ? random.uniform(0, 0.2) : 0));
  if (time.late_proxy >= 0) out_.ranks[time.late_proxy].proxy_waits.emplace_back(t, time.proxy_wait_ns);
  for (const auto& [rank, kernel] : meeting.members) {
    const CollectiveCall& own = program_.ranks[rank].calls[program_.ranks[rank].kernels[kernel].collective];
    out_.ranks[rank].kernels[kernel].transfer_ns = t;
    const auto end = t + time.ns + static_cast<int64_t>(random.uniform(0, 1800));
    PlayedTransfer transfer{t, end, call.communicator, rank, own.wire_bytes, time.between_hosts, true, true};
    if (call.channel != 0) {
      transfer.sends = own.destination >= 0;
      transfer.receives = own.source >= 0;
    }
    out_.transfers.push_back(transfer);
    at(end, Event::kKernelEnd, rank, kernel);
  }
}

void Engine::kernel_done(int rank, int32_t index, int64_t t) {
  const int64_t died = out_.ranks[rank].died_ns;
  if (died >= 0 && t >= died) return;
  Host& host = hosts_[rank];
  const Kernel& kernel = program_.ranks[rank].kernels[index];
  out_.ranks[rank].kernels[index].end_ns = t;
  done_[rank][index] = 1;
  Lane& lane = lanes_[rank][kernel.lane];
  lane.busy = false;
  lane.last_end_ns = t;
  --host.outstanding;
  for (uint32_t other = 0; other < lanes_[rank].size(); ++other) stream(rank, other, t);
  if (host.gone) return;
  if (host.queue_full && host.outstanding < kQueueDepth) {
    host.queue_full = false;
    at(t, Event::kHost, rank);
  }
  if (host.blocked_on == index) {
    host.blocked_on = kNoKernel;
    const int64_t woken = cores_[rank].wake(host.blocked_since, t + kWakeNs);
    host.blocked_since = -1;
    if (host.sync_span >= 0) out_.ranks[rank].spans[host.sync_span].end_ns = woken;
    host.sync_span = -1;
    at(woken, Event::kHost, rank);
  }
}

void Engine::close_open_spans() {
  for (size_t rank = 0; rank < out_.ranks.size(); ++rank) {
    RankTimeline& timeline = out_.ranks[rank];
    const bool finished = hosts_[rank].pc >= program_.ranks[rank].instructions.size();
    int64_t end = out_.end_ns;
    if (timeline.died_ns >= 0) end = timeline.died_ns;
    for (HostSpan& span : timeline.spans) {
      if (span.end_ns >= 0) continue;
      span.end_ns = end;
      span.open = !finished;
    }
    if (!finished && !hosts_[rank].gone) {
      cores_[rank].note(std::max<int64_t>(hosts_[rank].blocked_since, 0), end, HostActivity::kSpin);
    }
    timeline.host = cores_[rank].take();
  }
}

Timeline Engine::run() {
  const auto world = static_cast<size_t>(plant_.job.world());
  out_.ranks.resize(world);
  hosts_.resize(world);
  lanes_.resize(world);
  done_.resize(world);
  ready_ns_.resize(world);
  for (size_t rank = 0; rank < world; ++rank) {
    const size_t kernels = program_.ranks[rank].kernels.size();
    out_.ranks[rank].kernels.resize(kernels);
    out_.ranks[rank].spans.reserve(program_.ranks[rank].instructions.size() / 2);
    done_[rank].resize(kernels);
    ready_ns_[rank].resize(kernels, INT64_MAX);
    lanes_[rank].resize(program_.ranks[rank].lane_streams.size());
    hosts_[rank].worker_free_ns.resize(plant_.job.workers);
    noise_.emplace_back(plant_.job.seed, "engine", rank);
    cores_.emplace_back(plant_, static_cast<int>(rank));
    at(static_cast<int64_t>(noise_.back().uniform(0, 2e5)), Event::kHost, static_cast<int>(rank));
  }
  int64_t last = 0;
  while (!queue_.empty()) {
    const Happening next = queue_.top();
    queue_.pop();
    last = std::max(last, next.t);
    switch (next.event) {
      case Event::kHost:
        host(next.rank, next.t);
        break;
      case Event::kStream:
        stream(next.rank, next.index, next.t);
        break;
      case Event::kKernelEnd:
        kernel_done(next.rank, static_cast<int32_t>(next.index), next.t);
        break;
      case Event::kMeetEnd:
        break;
    }
  }
  for (size_t rank = 0; rank < world; ++rank) {
    RankTimeline& timeline = out_.ranks[rank];
    out_.blocked |= hosts_[rank].pc < program_.ranks[rank].instructions.size();
    timeline.step_end_ns.assign(program_.steps, -1);
    for (size_t i = 0; i < timeline.kernels.size(); ++i) {
      auto& end = timeline.step_end_ns[program_.ranks[rank].kernels[i].step];
      end = std::max(end, timeline.kernels[i].end_ns);
    }
  }
  out_.end_ns = last + (out_.blocked ? kHangNs : 0);
  close_open_spans();
  return std::move(out_);
}

}  // namespace

Timeline play(const Plant& plant, const JobProgram& program, double batch_load_ns) {
  return Engine(plant, program, batch_load_ns).run();
}

}  // namespace eroica
