#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulate/dialect.h"
#include "simulate/job_spec.h"

namespace eroica {

/// Which reason the driver gives for a low clock.
enum class ClockReason : uint8_t { kNone, kThermal, kPower, kBrake, kSyncBoost, kLocked };

/// State of one GPU. The defaults are a healthy one.
struct GpuState {
  double clock = 1;  ///< of the usual one, while it is held down
  double duty = 1;   ///< share of the time in which it is held down
  int64_t duty_period_ns = 400'000'000;
  ClockReason reason = ClockReason::kNone;
  double hidden_speed = 1;   ///< slower than its clock says
  double memory = 1;         ///< bandwidth
  double foreign_share = 0;  ///< of its time slices that go to another process
  double pcie = 1;           ///< bandwidth
  double pcie_jitter = 0;
  double nvlink = 1;  ///< bandwidth
  double power_limit = 1;
  double celsius = -1;      ///< −1: what follows from the power
  int pcie_generation = 0;  ///< 0: the model's
  int pcie_width = 16;
  int nvlinks_down = 0;
  int remapped_rows = 0;
  double pcie_replay_per_s = 0;
  double nvlink_error_per_s = 0;
  double ecc_per_s = 0;
  double xid_per_s = 0;
};

/// State of one worker process and of the cores on which it runs.
struct PlantProcess {
  double speed = 1;               ///< of its CPU cores for this work
  double stolen = 0;              ///< share of the main thread's core that others take
  int64_t slice_ns = 12'000'000;  ///< how long they take it at a time
  double interrupts = 0;          ///< share of the core that interrupt handling takes
  double quota_cores = 0;         ///< of its cgroup; 0: none
  double driver_calls = 1;        ///< time of calls into the GPU driver, times the usual
  double driver_jitter = 0;       ///< share of the calls that hit a held lock
  double call_overhead_us = 0;    ///< added to every such call
  double gil = 0;                 ///< share of the interpreter's time that another thread holds it
  double proxy_wait_us = 0;       ///< before each inter-host transfer
  double load = 1;                ///< time that a worker needs for a batch, times the usual
  double load_io = 0.15;          ///< share of it in which it waits for storage
  double remote_numa = 0.03;
  double stall_per_launch_us = 0;  ///< memory management of the kernel that hits one launch in `stall_every`
  int stall_every = 12;
  int allowed_cpus = 0;   ///< 0: half of the host's
  int threads = 0;        ///< 0: the usual
  double extra_run = 0;   ///< cores that its other threads burn
  double extra_wait = 0;  ///< cores that they wait for
  double refaults_per_s = 1;
  double major_faults_per_s = 0.2;
  double limit_hits_per_s = 0;
  double alloc_retries_per_s = 0;
  double disk_read = 0;
  double overlap_cost = 0.03;  ///< how much collectives slow down kernels beside them
  double launch_slowdown = 1;
  std::map<std::string, std::string> env;  ///< what differs from the others
  std::string torch;                       ///< differs from the others
};

struct NicState {
  double rate = 1;
  double negotiated = 1;  ///< speed as told, of the usual
  int members_up = 2;     ///< of a bond
  double flap_per_s = 0;  ///< losses of the link
  double flap_outage_s = 0;
  double varying = 0;  ///< how much the rate changes from moment to moment
  double pause_per_s = 0;
  double cnp_per_s = 3;
  double error_per_s = 0;
  double drop_per_s = 0;
  double foreign_bytes_per_s = 0;
  bool through_host = false;  ///< without GPUDirect: bytes go over PCIe and host memory
};

struct HostState {
  std::vector<NicState> nics;
  double foreign_cores = 1;
  double softirq = 0.004;
  double irq = 0.001;
  double cpu_clock = 1;
  double swap_in_per_s = 0;
  double pressure_memory = 0.002;
  double pressure_io = 0.01;
  double pressure_cpu = 0.01;
  double iowait = 0.002;
  double compact_stall_per_s = 0.2;
  double remote_rtt_ms = 0.7;
  double remote_ops_per_s = 400;
  double retransmit_per_s = 0.4;
  double tcp_rtt_ms = 0.2;
  double disk_await_ms = 0.26;
  double disk_busy = 0.012;
  double disk_read = 5e5;
  int foreign_gpu_processes = 0;  ///< per GPU that is shared
  std::string driver;             ///< differs from the others
  std::string kernel;
  std::string nccl;
};

/// Something that happens in a rank's program at certain steps.
enum class DeedKind : uint8_t {
  kSlowFunction,  ///< Python work in a function of the project
  kSlowFrame,     ///< Python work inside library frames
  kLogging,       ///< writes to a stream
  kDeviceSync,    ///< `.item()` in layers
  kGarbage,       ///< a pause of the interpreter
  kRecompile,
  kAllocatorRetry,
  kPinnedChurn,
  kCheckpoint,
  kKernelVariant,  ///< a product runs through a slower kernel
  kRepeatStep,     ///< forward and backward once more
  kEvaluation,
  kHang,
  kDie,
  kStop,
  kMismatch,
  kCpuOperator,  ///< an operator on the host, of the framework's thread pool
};
struct Deed {
  DeedKind kind = DeedKind::kSlowFunction;
  int rank = 0;         ///< −1: all of them
  bool moving = false;  ///< another rank each time
  int every = 1;        ///< steps
  int only_step = -1;   ///< happens once; −1: again and again
  double ms = 0;
  int count = 1;
  double factor = 1;
  std::vector<Frame> frames = {};  ///< outermost first
};

/// Work that is not the same on all ranks. Factors of a rank's usual work.
struct WorkState {
  double batch = 1;            ///< steadily
  double sequence_spread = 0;  ///< between replicas, from micro-batch to micro-batch
  double expert_skew = 0.06;   ///< tokens of experts
  int hot_rank = -1;           ///< whose experts get more; −1: random
  double hot_factor = 1;
};

/// What the wires between hosts and the library that uses them do.
struct NetworkState {
  std::string algorithm = "RING";
  std::string protocol = "SIMPLE";
  double efficiency = 1;  ///< of bandwidth that the algorithm reaches
  double latency = 1;
  int channels = 16;
  int pair_a = -1, pair_b = -1;  ///< hosts between which flows share a path
  double pair_rate = 1;
};

/// The machines as they are in this window: everything on which faults act.
struct Plant {
  JobSpec job;
  Dialect dialect;
  std::vector<GpuState> gpus;           ///< by rank
  std::vector<PlantProcess> processes;  ///< by rank
  std::vector<HostState> hosts;
  std::vector<WorkState> work;  ///< by rank
  std::vector<Deed> deeds;
  NetworkState network;
  std::vector<int> traces_missing;
  std::vector<int> samples_missing;  ///< hosts
  double clock_ppm_extra = 0;        ///< drift beyond the usual
  bool residue = false;              ///< a profiler that ended left its hooks in
};

Plant healthy_plant(const JobSpec& job, const Dialect& dialect);

}  // namespace eroica
