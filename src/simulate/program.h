#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulate/plant.h"

namespace eroica {

/// Strings by number. Programs, timelines and traces of a job share one.
class Names {
 public:
  uint32_t id(std::string_view text);
  [[nodiscard]] const std::string& text(uint32_t id) const { return texts_[id]; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> ids_;
};

/// A group of ranks that communicate, with a stream of its own on each.
struct Communicator {
  std::string name;
  std::string desc;
  std::vector<int> ranks;
  int stream = 0;
};

enum class SpanKind : uint8_t { kPython, kOperator, kAnnotation, kRuntime };

enum class Do : uint8_t {
  kBegin,   ///< a span begins: name, span
  kEnd,     ///< the innermost one of this thread ends
  kWork,    ///< the thread works for `ns`
  kIo,      ///< the thread waits for storage or a peer for `ns`
  kPause,   ///< the interpreter collects garbage for `ns`
  kDriver,  ///< a call into the driver that launches nothing: name, `ns`
  kLaunch,  ///< a call that launches kernel `index`: name, `ns`
  kSync,    ///< a call that waits for all kernels so far: name
  kFetch,   ///< the next batch from the workers
  kThread,  ///< who goes on: index 0 main, 1 autograd
  kStep,    ///< step `index` begins
  kFetchEnd,
  kHang,  ///< never goes on
  kDie,   ///< the process ends
  kStop,  ///< the process is stopped by a signal
};

struct Instruction {
  Do what = Do::kWork;
  SpanKind span = SpanKind::kPython;
  uint16_t step = 0;
  uint32_t name = 0;
  uint32_t index = 0;       ///< kernel, step or thread; of operators the input shapes' text (0: none)
  int32_t collective = -1;  ///< of the spans that issue one
  int64_t ns = 0;
};

enum class KernelKind : uint8_t { kCompute, kCopyIn, kCopyOut, kCollective };

inline constexpr int32_t kNoKernel = -1;

struct Kernel {
  uint32_t name = 0;
  KernelKind kind = KernelKind::kCompute;
  uint8_t lane = 0;  ///< index of the stream among the rank's lanes
  uint16_t step = 0;
  int64_t ns = 0;                      ///< on a healthy device of this model, this time's noise included
  float bound_by_clock = 1;            ///< share of the time that grows when the clock falls; the rest is memory's
  float sm = 0, tensor = 0, dram = 0;  ///< use while it runs
  uint32_t grid = 1, block = 128;
  uint64_t bytes = 0;  ///< of copies
  int32_t collective = -1;
  std::array<int32_t, 3> after{kNoKernel, kNoKernel, kNoKernel};  ///< kernels of this rank that must have ended
};

/// One collective as one rank takes part in it.
struct CollectiveCall {
  uint32_t communicator = 0;
  uint32_t match = 0;       ///< members with the same communicator, lane and number meet
  uint16_t channel = 0;     ///< 0 collectives; else the direction of a pair
  uint32_t kind = 0;        ///< name as record_param_comms writes it
  uint32_t annotation = 0;  ///< "nccl:all_reduce"
  uint32_t dtype = 0;
  uint64_t in_elements = 0;
  uint64_t out_elements = 0;
  double wire_bytes = 0;  ///< that this rank sends or receives
  int32_t source = -1;    ///< ranks in the group, of send and recv
  int32_t destination = -1;
  int64_t sequence = 0;
};

struct RankProgram {
  std::vector<Instruction> instructions;
  std::vector<Kernel> kernels;
  std::vector<CollectiveCall> calls;
  std::vector<int> lane_streams;  ///< stream number of each lane; lane 0 computes
};

struct JobProgram {
  Names names;
  std::vector<Communicator> communicators;  ///< the first one holds all ranks
  std::vector<RankProgram> ranks;
  int steps = 0;  ///< one more than the window's at the front
};

/// Writes down what every rank's host does, from the first step to the last.
JobProgram write_program(const Plant& plant);

}  // namespace eroica
