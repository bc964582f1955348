#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pattern/function_slots.h"
#include "trace/trace.h"

namespace eroica {

/// What the innermost call on a host thread was doing.
enum class Leaf : uint8_t {
  kNone,      ///< no call is open
  kPython,    ///< Python code, or an annotation around it
  kOperator,  ///< a framework operator
  kComm,      ///< a framework operator that issues a collective (c10d::*)
  kRuntime,   ///< a call into the device runtime or driver
  kSync,      ///< … that waits for the device
};

/// Where a launch came from.
struct Launched {
  uint32_t correlation;
  uint32_t issuer;    ///< slot of the user's Python function, else of the operator; kNoSlot
  uint32_t sequence;  ///< autograd sequence number of the operator around it when no Python frame is known
  uint32_t comm;      ///< index in Trace::op_args of the enclosing communication operator, 0 = none
};

/// Which code ran the operator of an External id.
struct OperatorIssuer {
  uint32_t external_id;
  uint32_t issuer;  ///< slot of the user's Python function, else of the operator
};

/// A framework operator that issued a collective.
struct CommCall {
  int64_t start_ns;  ///< since the window's start
  uint32_t name;     ///< in Trace::names
  uint32_t issuer;   ///< slot of the user's Python function, kNoSlot = unknown
};

/// Which Python function ran the forward operator of an autograd sequence number.
struct ForwardOp {
  uint32_t sequence;
  uint32_t issuer;
};

/// Gathers one thread's call tree: executions, total and self time of its functions, and its launches.
class HostWalk {
 public:
  struct Window {
    int64_t start_ns;  ///< on the trace's axis
    int64_t end_ns;
  };
  /// Told in order of time, without gaps, for the whole window: [from, to) since the window's start.
  using LeafSink = std::function<void(int64_t from_ns, int64_t to_ns, Leaf leaf, uint32_t slot)>;

  HostWalk(const Trace& trace, FunctionSlots& slots, Window window, bool gpu_job);

  /// Walks a sorted host track. Collectives that run on the host (gloo:*) are left out: they overlap without nesting.
  void run(const Track& track, const LeafSink& sink);

  std::vector<Launched> launches;
  std::vector<ForwardOp> forward_ops;
  std::vector<CommCall> comm_calls;
  std::vector<OperatorIssuer> operators;
  /// Time of operators per (operator slot, user's Python slot), for naming the lines that run them.
  std::unordered_map<uint64_t, int64_t> issued_ns;

 private:
  struct Frame {
    int64_t end_ns;
    uint32_t slot;
    uint32_t python;     // innermost Python slot, itself included
    uint32_t python_id;  // Event::kNoId unless a Python frame with an id
    uint32_t sequence;
    uint32_t comm;
    Leaf leaf;
    int64_t start_ns;
  };
  struct Role {
    FunctionKind kind;
    Leaf leaf;
    bool skip;
  };
  Role role_of(const Event& event);
  void push(const Event& event, Role role);
  [[nodiscard]] uint32_t user_of(const Frame& frame) const;
  void pop_until(int64_t time_ns, const LeafSink& sink);
  void pop(const LeafSink& sink, int64_t at_ns);
  void advance(int64_t to_ns, const LeafSink& sink);
  uint64_t shape_of(const Event& event);

  const Trace* trace_;
  FunctionSlots* slots_;
  Window window_;
  bool gpu_job_;
  int64_t at_ns_ = 0;
  std::vector<Frame> stack_;
  std::vector<uint8_t> role_by_name_;  // lazily: 1 + name class
};

/// Name class of the annotations and operators that mark or fetch instead of computing.
bool is_fetch_name(std::string_view raw_name);
bool is_sync_call(std::string_view raw_name);

}  // namespace eroica
