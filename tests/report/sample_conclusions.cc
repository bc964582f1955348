#include "report/sample_conclusions.h"

namespace eroica::testing {
namespace {

std::vector<int32_t> range(int32_t first, int32_t last, int32_t step = 1) {
  std::vector<int32_t> ranks;
  for (int32_t rank = first; rank <= last; rank += step) ranks.push_back(rank);
  return ranks;
}

Diagnosis heat() {
  Diagnosis diagnosis;
  diagnosis.cause = "gpu.thermal_throttle";
  diagnosis.title = "GPU slowed down by heat";
  diagnosis.summary = "GPUs 2 and 3 of trn-a167 hold their clock down for heat 41 % of the time.";
  diagnosis.ranks = {2, 3};
  diagnosis.hosts = {"trn-a167"};
  diagnosis.component = "host trn-a167/gpu 2, gpu 3";
  diagnosis.function = FunctionRef{"layer_norm_backward", "compute", "model/block.py", 212, {"main", "train_step"}};
  diagnosis.confidence = 0.958;
  diagnosis.confidence_why = {"the clock follows the temperature", "14 peers agree within 2 %"};
  diagnosis.lost_ms_per_step = 10.5;
  diagnosis.lost_gpu_seconds_per_hour = 2016.2;
  diagnosis.marginal_ms_per_step = 9.75;
  diagnosis.evidence = {{"time with the clock held down for heat", 0.4123456, "share", 0.0, 0.0, {2, 3}},
                        {"clock of the multiprocessors", 1.215e9, "hz", 1.98e9, 1.5e7, {2, 3}},
                        {"compute, exposed a step", 43.21, "ms", 32.7, 0.24, {2, 3}},
                        {"temperature of the chip", 88, "celsius", 61, 2, {2}}};
  diagnosis.alternatives = {{"gpu.power_cap", 0.03, "power is 120 W below its limit"},
                            {"gpu.clock_locked", 0.01, "no application clock is set"},
                            {"work.batch_imbalance", 0, ""}};
  diagnosis.action =
      "Check fans, inlet temperature and the heat sinks of GPUs 2 and 3 on trn-a167; drain the host when they do not "
      "recover.";
  return diagnosis;
}

Diagnosis clock_hint() {
  Diagnosis hint;
  hint.cause = "gpu.power_cap";
  hint.title = "GPU at its power limit";
  hint.ranks = {1};
  hint.component = "host h1/gpu 0";
  hint.confidence = 0.31;
  hint.lost_ms_per_step = 0.8;
  hint.evidence = {{"time with the clock held down for power", 0.02, "fraction", std::nullopt, std::nullopt, {1}}};
  hint.action = "Watch it.";
  return hint;
}

Diagnosis slow_function() {
  Diagnosis diagnosis;
  diagnosis.cause = "code.slow_function";
  diagnosis.title = "A function takes longer than on the peers";
  diagnosis.summary = "augment takes 25.9 ms a step on rank 2 and 4 ms on its peers.";
  diagnosis.ranks = {2};
  diagnosis.function = FunctionRef{"augment", "python", "train.py", 88, {"main", "__getitem__"}};
  diagnosis.confidence = 0.82;
  diagnosis.confidence_why = {"3 peers agree within 1 %"};
  diagnosis.lost_ms_per_step = 20.0004;
  diagnosis.lost_gpu_seconds_per_hour = 3840;
  diagnosis.marginal_ms_per_step = 14;
  diagnosis.evidence = {{"augment, exposed a step", 25.93, "ms", 4.0, 0.01, {2}}};
  diagnosis.alternatives = {{"cpu.contention", 0.2, "cpu.runnable_wait was not sampled: it would decide"},
                            {"cpu.cgroup_throttle", 0.1, "no time was throttled"},
                            {"data.workers_starved", 0.05, "it runs in the training thread"},
                            {"data.slow_local_disk", 0.01, "the disk is idle"}};
  diagnosis.action = "Look at train.py:88 on rank 2's input.";
  return diagnosis;
}

Diagnosis slow_link() {
  Diagnosis diagnosis;
  diagnosis.cause = "nic.slow_link";
  diagnosis.title = "A link moves bytes slower than the others";
  diagnosis.summary = "Between h0 and h1 0.8 GB/s flow, elsewhere 11 GB/s.";
  diagnosis.scope = Scope::kLink;
  diagnosis.ranks = {0, 1};
  diagnosis.hosts = {"h0", "h1"};
  diagnosis.component = "host h1/nic eth0";
  diagnosis.confidence = 0.64;
  diagnosis.lost_ms_per_step = 6;
  diagnosis.lost_gpu_seconds_per_hour = 288;
  diagnosis.marginal_ms_per_step = 1;
  diagnosis.evidence = {{"sent over the link while collectives run", 8.1e8, "bytes_per_s", 1.1e10, 2e8, {1}},
                        {"negotiated speed", 1e10, "bits_per_s", 1e11, 0.0, {0, 1}}};
  diagnosis.action = "Check cable and port.";
  return diagnosis;
}

}  // namespace

Conclusion heat_conclusion() {
  Conclusion conclusion;
  conclusion.diagnoses = {heat()};
  conclusion.hints = {clock_hint()};
  conclusion.peer_groups = {{"all ranks", "members of the same process groups", range(0, 15)}};
  conclusion.victims = {0, 1, 4, 5, 6, 7};
  conclusion.what_if = {1.0724, 1.131, 64.5};
  conclusion.signals_missing = {"gpu.power", "cpu.run"};
  conclusion.notes = {"one collective in five could not be aligned"};
  return conclusion;
}

Conclusion two_claims() {
  Conclusion conclusion;
  conclusion.diagnoses = {slow_function(), slow_link()};
  conclusion.peer_groups = {{"all ranks", "the same functions with the same shapes", range(0, 3)}};
  conclusion.victims = {3};
  conclusion.what_if = {1.3636, 1.5, 55};
  conclusion.signals_missing = {"cpu.runnable_wait"};
  return conclusion;
}

Conclusion all_ranks() {
  Conclusion conclusion;
  Diagnosis diagnosis;
  diagnosis.cause = "code.device_sync";
  diagnosis.title = "The host waits for the device in every step";
  diagnosis.summary = "All ranks spend 5 ms a step in synchronisation.";
  diagnosis.scope = Scope::kAll;
  diagnosis.confidence = 0.7;
  diagnosis.lost_ms_per_step = 5;
  diagnosis.lost_gpu_seconds_per_hour = 960;
  diagnosis.action = "Read losses every hundred steps.";
  conclusion.diagnoses = {diagnosis};
  conclusion.what_if = {1, 1.02, 70};
  return conclusion;
}

Conclusion blocked_conclusion() {
  Conclusion conclusion;
  conclusion.blocked = Blocked{"dp",
                               1234,
                               "all_reduce",
                               {0, 1, 2},
                               {3},
                               {"rank 3: train.py:88 augment < train.py:40 fetch < train.py:12 main"},
                               {"rank 3: stopped by a signal (T)"}};
  Diagnosis diagnosis;
  diagnosis.cause = "blocked.process_stopped";
  diagnosis.title = "A process is stopped";
  diagnosis.summary = "The process of rank 3 was stopped by a signal; ranks 0-2 wait for it.";
  diagnosis.ranks = {3};
  diagnosis.component = "rank 3";
  diagnosis.confidence = 0.99;
  diagnosis.action = "Continue it (kill -CONT), and find out who stopped it.";
  conclusion.diagnoses = {diagnosis};
  conclusion.victims = {0, 1, 2};
  return conclusion;
}

Conclusion thousand_ranks() {
  Conclusion conclusion;
  Diagnosis diagnosis = slow_function();
  diagnosis.title = "Slow\x1b[31m <b>everywhere</b>";
  diagnosis.ranks = range(0, 999, 7);
  diagnosis.hosts.clear();
  for (int host = 0; host < 125; ++host) diagnosis.hosts.push_back("node" + std::to_string(host));
  diagnosis.evidence[0].ranks = range(0, 500, 7);
  diagnosis.lost_gpu_seconds_per_hour = 504'000;
  conclusion.diagnoses = {diagnosis};
  while (conclusion.diagnoses.size() < 11) conclusion.diagnoses.push_back(slow_link());
  while (conclusion.hints.size() < 6) conclusion.hints.push_back(clock_hint());
  conclusion.peer_groups = {{"stage 0", "pipeline stage", range(0, 499)},
                            {"stage 1", "pipeline stage", range(500, 999)}};
  for (int32_t rank = 0; rank < 1000; ++rank) {
    if (rank % 7 != 0) conclusion.victims.push_back(rank);
  }
  conclusion.what_if = {1.5, 1.6, 50};
  return conclusion;
}

Conclusion healthy_conclusion(int ranks) {
  Conclusion conclusion;
  conclusion.peer_groups = {{"all ranks", "the same functions with the same shapes", range(0, ranks - 1)}};
  conclusion.what_if = {1.003, 1.01, 74.8};
  conclusion.signals_missing = {"cpu.runnable_wait", "net.queue", "io.blocked", "memory.major_faults", "disk.await"};
  return conclusion;
}

}  // namespace eroica::testing
