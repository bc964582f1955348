#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pattern/function_slots.h"
#include "pattern/shapes.h"
#include "pattern/window.h"
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
  int64_t start_ns;   ///< of the launching call
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

/// A computing operator on a CPU job that called no other.
struct LeafWork {
  int64_t start_ns;  ///< since the window's start
  double work;       ///< elements of its inputs
};

/// Gathers one thread's call tree: executions, total and self time of its functions, and its launches.
class HostWalk {
 public:
  HostWalk(const Trace& trace, FunctionSlots& slots, ElementCounts& elements, WindowClip window, bool gpu_job);

  /// Walks a sorted host track. Collectives that run on the host (gloo:*) are left out: they overlap without nesting.
  /// Calls sink(from_ns, to_ns, leaf, slot) in order of time, without gaps, for the whole window, [from, to) since its
  /// start.
  template <typename Sink>
  void run(const Track& track, Sink sink);

  std::vector<Launched> launches;
  std::vector<ForwardOp> forward_ops;
  std::vector<CommCall> comm_calls;
  std::vector<OperatorIssuer> operators;
  std::vector<LeafWork> leaf_work;  ///< of the track walked last, by start
  /// Time of operators per (operator slot, user's Python slot), for naming the lines that run them.
  std::unordered_map<uint64_t, int64_t> issued_ns;

 private:
  static constexpr uint32_t kNoFrame = 0xffffffff;
  struct Frame {
    int64_t start_ns = INT64_MIN;
    int64_t end_ns = INT64_MAX;
    uint32_t slot = kNoSlot;
    uint32_t python = kNoSlot;          // innermost Python slot, itself included
    uint32_t python_id = Event::kNoId;  // unless a Python frame with an id
    uint32_t user = kNoSlot;            // innermost slot of the user's Python code
    uint32_t sequence = Event::kNoId;
    uint32_t comm = 0;
    uint32_t worker = kNoFrame;  // place of the innermost computing operator with work, itself included
    double work = 0;             // of a computing operator
    bool calls_work = false;     // a computing operator: it called another one
    Leaf leaf = Leaf::kNone;
  };
  struct Role {
    FunctionKind kind;
    Leaf leaf;
    bool skip;
  };
  enum NameClass : uint8_t { kUnseen, kPlain, kFetchCall, kMark, kCommCall, kSyncCall, kHostCollective };
  static NameClass classify(std::string_view name);
  [[nodiscard]] Role role_of(Category category, NameClass name_class) const;
  Role role_of(const Event& event) {
    NameClass& name_class = class_by_name_[event.name];
    if (name_class == kUnseen) {
      name_class = classify(trace_->names.text(event.name));
    }
    return roles_[static_cast<size_t>(event.category)][name_class];
  }
  void push(const Event& event, Role role);
  void close(const Frame& frame, int64_t at_ns);
  void set_python(Frame& frame, uint32_t slot) const;
  void add_launch(const Event& event);
  void add_args(const Event& event, Role role, Frame& frame);
  void add_work(Role role, double work, Frame& frame);
  void add_operator(const Event& event, Role role, Frame& frame);
  [[nodiscard]] size_t frames_to_keep(uint32_t python_parent) const;
  bool is_standing(const Event& event);

  template <typename Sink>
  void advance(int64_t to_ns, Sink& sink);
  template <typename Sink>
  void pop(int64_t at_ns, Sink& sink);

  const Trace* trace_;
  FunctionSlots* slots_;
  ElementCounts* elements_;
  WindowClip window_;
  bool gpu_job_;
  int64_t at_ns_ = 0;                     // in the window
  bool standing_ = false;                 // only frames that were open when the trace began have come so far
  int64_t standing_ns_ = 0;               // start of the last of them
  std::vector<Frame> stack_;              // the outermost is the thread itself and never ends
  std::vector<NameClass> class_by_name_;  // lazily
  std::array<std::array<Role, kHostCollective + 1>, kCategoryCount> roles_{};
};

template <typename Sink>
void HostWalk::advance(int64_t to_ns, Sink& sink) {
  const int64_t from = at_ns_;
  const int64_t to = std::min(to_ns, window_.end_ns);
  if (from >= to) {
    return;
  }
  at_ns_ = to;
  const Frame& top = stack_.back();
  if (top.slot != kNoSlot) {
    (*slots_)[top.slot].self_ns += to - from;
  }
  sink(from - window_.start_ns, to - window_.start_ns, top.leaf, top.slot);
}

template <typename Sink>
void HostWalk::pop(int64_t at_ns, Sink& sink) {
  const int64_t end = std::min(at_ns, stack_.back().end_ns);
  advance(end, sink);
  close(stack_.back(), end);
  stack_.pop_back();
}

template <typename Sink>
void HostWalk::run(const Track& track, Sink sink) {
  at_ns_ = window_.start_ns;
  stack_.assign(1, Frame{});
  leaf_work.clear();
  standing_ = true;
  standing_ns_ = track.events.empty() ? 0 : track.events[0].start_ns;
  for (const Event& event : track.events) {
    const Role role = role_of(event);
    if (role.skip) {
      continue;
    }
    while (stack_.back().end_ns <= event.start_ns) {
      pop(stack_.back().end_ns, sink);
    }
    if (event.category == Category::kPython && event.link != Event::kNoId) {
      for (const size_t keep = frames_to_keep(event.link); stack_.size() > keep;) {
        pop(event.start_ns, sink);
      }
    }
    advance(event.start_ns, sink);
    push(event, role);
  }
  while (stack_.size() > 1) {
    pop(stack_.back().end_ns, sink);
  }
  advance(window_.end_ns, sink);
}

}  // namespace eroica
