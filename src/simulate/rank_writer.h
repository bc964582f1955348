#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/program.h"
#include "simulate/random.h"

namespace eroica {

/// What an operator's kernels have to do.
struct KernelWork {
  KernelRole role = KernelRole::kAdd;
  double flops = 0;
  double bytes = 0;
  std::string dims;  ///< input shapes as JSON
};

/// The ends of a collective that one rank sees.
struct CollectiveWork {
  uint32_t communicator = 0;
  std::string_view kind;        ///< "allreduce" …
  std::string_view op;          ///< "c10d::allreduce_"
  std::string_view annotation;  ///< "nccl:all_reduce"
  std::string_view dtype = "BFloat16";
  double in_elements = 0;
  double out_elements = 0;
  double wire_bytes = 0;
  int peer = -1;  ///< rank of the job, of send and recv
  bool sends = false;
};

/// Writes one rank's program in small words: frames, operators, launches, collectives. Costs of the host are drawn
/// here, so that what a fault adds does not move the noise of what was there before.
class RankWriter {
 public:
  RankWriter(const Plant& plant, JobProgram& program, int rank);

  void begin(SpanKind span, std::string_view name);
  void end();
  void work_us(double us);            ///< with noise
  void extra_ns(Do what, double ns);  ///< without
  void driver(std::string_view name, double us);
  void launch_kernel(const KernelWork& work, uint32_t kernel_name);
  void sync(std::string_view name);
  void thread(int index);
  void emit(Do what, uint32_t index = 0);

  /// An operator that launches one kernel, or several where the job is cut fine.
  void op(std::string_view name, const KernelWork& work);
  /// As the autograd engine runs it: the node, then its operators.
  void backward_op(std::string_view node, std::string_view name, std::initializer_list<KernelWork> works);
  void copy_in(double bytes);
  void item();  ///< reads one number back from the device

  /// Issues a collective behind what the compute stream has so far.
  /// Returns the kernel, for wait_for().
  int32_t collective(const CollectiveWork& work);
  /// The compute stream's next kernel waits for this one.
  void wait_for(int32_t kernel);

  void set_step(int step) { step_ = static_cast<uint16_t>(step); }
  [[nodiscard]] int step() const { return step_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// Kernels that a fault replaces: matrix products of this layer run through a slower one.
  void set_variant(double factor) { variant_ = factor; }
  [[nodiscard]] int32_t last_compute() const { return last_compute_; }

 private:
  uint8_t lane(uint32_t communicator, uint16_t channel);
  Kernel make_kernel(const KernelWork& work);
  void push_launch(const Kernel& kernel, std::string_view call, std::string_view node_name);

  const Plant& plant_;
  JobProgram& program_;
  RankProgram& out_;
  const GpuModel& gpu_;
  int rank_;
  uint16_t step_ = 0;
  double variant_ = 1;
  Random host_noise_;
  Random kernel_noise_;
  std::map<std::pair<uint32_t, uint16_t>, uint8_t> lanes_;
  std::map<std::pair<uint32_t, uint16_t>, uint32_t> matches_;
  std::map<uint32_t, int64_t> sequences_;
  std::vector<int32_t> pending_;  ///< what the next compute kernel waits for
  int32_t last_compute_ = kNoKernel;
};

}  // namespace eroica
