#include "pattern/host_walk.h"

#include <algorithm>

#include "base/hash.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

enum NameClass : uint8_t { kUnseen, kPlain, kFetchCall, kMark, kCommCall, kSyncCall, kHostCollective };

// Deeper than real stacks; keeps hostile nesting from costing quadratic time.
constexpr size_t kMostFramesSearched = 256;

NameClass classify(std::string_view name) {
  if (is_host_collective(name)) {
    return kHostCollective;
  }
  if (is_fetch_name(name)) {
    return kFetchCall;
  }
  if (name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.")) {
    return kMark;
  }
  if (name.starts_with("c10d::") || name.starts_with("nccl:") || name == "record_param_comms") {
    return kCommCall;
  }
  return is_sync_call(name) ? kSyncCall : kPlain;
}

}  // namespace

bool is_fetch_name(std::string_view raw_name) { return raw_name.starts_with("enumerate(DataLoader)#"); }

bool is_sync_call(std::string_view raw_name) {
  return raw_name.find("Synchronize") != std::string_view::npos || raw_name.starts_with("synchronize");
}

HostWalk::HostWalk(const Trace& trace, FunctionSlots& slots, Window window, bool gpu_job)
    : trace_(&trace), slots_(&slots), window_(window), gpu_job_(gpu_job), role_by_name_(trace.names.size()) {}

HostWalk::Role HostWalk::role_of(const Event& event) {
  uint8_t& name_class = role_by_name_[event.name];
  if (name_class == kUnseen) {
    name_class = classify(trace_->names.text(event.name));
  }
  const FunctionKind operator_kind = gpu_job_ ? FunctionKind::kOperator : FunctionKind::kCompute;
  switch (event.category) {
    case Category::kPython:
      return {FunctionKind::kPython, Leaf::kPython, false};
    case Category::kOperator:
    case Category::kAnnotation:
    case Category::kOther:
      switch (name_class) {
        case kHostCollective:
          return {FunctionKind::kCollective, Leaf::kNone, true};
        case kFetchCall:
          return {FunctionKind::kFetch, Leaf::kPython, false};
        case kCommCall:
          return {FunctionKind::kOperator, Leaf::kComm, false};
        default:
          break;
      }
      if (event.category == Category::kOperator && name_class != kMark) {
        return {operator_kind, Leaf::kOperator, false};
      }
      return {FunctionKind::kPython, Leaf::kPython, false};
    case Category::kRuntime:
    case Category::kDriver:
      return name_class == kSyncCall ? Role{FunctionKind::kSync, Leaf::kSync, false}
                                     : Role{FunctionKind::kRuntime, Leaf::kRuntime, false};
    default:
      return {FunctionKind::kPython, Leaf::kNone, true};
  }
}

uint64_t HostWalk::shape_of(const Event& event) {
  const bool has_args = event.category == Category::kOperator || event.category == Category::kAnnotation;
  if (!has_args || event.detail == 0) {
    return 0;
  }
  return trace_->names.text_hash(trace_->op_args[event.detail].input_dims);
}

void HostWalk::advance(int64_t to_ns, const LeafSink& sink) {
  const int64_t from = std::max(at_ns_, window_.start_ns);
  const int64_t to = std::min(to_ns, window_.end_ns);
  at_ns_ = std::max(at_ns_, to_ns);
  if (from >= to) {
    return;
  }
  if (stack_.empty()) {
    sink(from - window_.start_ns, to - window_.start_ns, Leaf::kNone, kNoSlot);
    return;
  }
  const Frame& top = stack_.back();
  (*slots_)[top.slot].self_ns += to - from;
  sink(from - window_.start_ns, to - window_.start_ns, top.leaf, top.slot);
}

void HostWalk::pop(const LeafSink& sink, int64_t at_ns) {
  advance(std::min(at_ns, stack_.back().end_ns), sink);
  const Frame frame = stack_.back();
  stack_.pop_back();
  Slot& slot = (*slots_)[frame.slot];
  --slot.open;
  const int64_t start = std::max(frame.start_ns, window_.start_ns);
  const int64_t end = std::min(std::min(at_ns, frame.end_ns), window_.end_ns);
  if (end < start) {
    return;
  }
  slots_->add_execution(frame.slot, end - start);
  if (slot.open == 0) {
    slot.total_ns += end - start;
    if (const uint32_t user = user_of(frame); user != kNoSlot && user != frame.slot) {
      issued_ns[(uint64_t{frame.slot} << 32) | user] += end - start;
    }
  }
}

uint32_t HostWalk::user_of(const Frame& frame) const {
  return frame.python == kNoSlot ? kNoSlot : (*slots_)[frame.python].user;
}

void HostWalk::pop_until(int64_t time_ns, const LeafSink& sink) {
  while (!stack_.empty() && stack_.back().end_ns <= time_ns) {
    pop(sink, stack_.back().end_ns);
  }
}

void HostWalk::push(const Event& event, Role role) {
  Frame frame{};
  frame.leaf = role.leaf;
  frame.start_ns = event.start_ns;
  frame.end_ns = event.end_ns();
  frame.python = kNoSlot;
  frame.python_id = Event::kNoId;
  frame.sequence = Event::kNoId;
  if (!stack_.empty()) {
    const Frame& parent = stack_.back();
    // Ends differ by rounding between what Python and the operators recorded; a child never outlives its parent.
    frame.end_ns = std::min(frame.end_ns, parent.end_ns);
    frame.python = parent.python;
    frame.sequence = parent.sequence;
    frame.comm = parent.comm;
  }
  if (event.category == Category::kPython) {
    frame.slot = slots_->frame(frame.python, event.name);
    frame.python = frame.slot;
    frame.python_id = event.id;
  } else {
    frame.slot = slots_->plain(role.kind, event.name);
    if (const uint64_t shape = shape_of(event); shape != 0) {
      slots_->add_shape(frame.slot, shape);
    }
  }
  const bool is_operator = event.category == Category::kOperator || event.category == Category::kAnnotation;
  if (is_operator && event.detail != 0) {
    const OpArgs& args = trace_->op_args[event.detail];
    if (frame.python == kNoSlot && args.call_stack != 0) {
      frame.python = slots_->call_stack(args.call_stack);
    }
    if (args.collective != 0 || (role.leaf == Leaf::kComm && args.input_dims != 0 &&
                                 (frame.comm == 0 || trace_->op_args[frame.comm].collective == 0))) {
      frame.comm = event.detail;
    }
  }
  if (event.category == Category::kOperator && event.id != Event::kNoId) {
    const uint32_t user = user_of(frame);
    operators.push_back({event.id, user != kNoSlot ? user : frame.slot});
  }
  if (event.category == Category::kOperator && event.link != Event::kNoId) {
    frame.sequence = event.link;
    if (const uint32_t user = user_of(frame); user != kNoSlot) {
      forward_ops.push_back({event.link, user});
    }
  }
  if (role.leaf == Leaf::kComm && event.category == Category::kOperator) {
    comm_calls.push_back({event.start_ns - window_.start_ns, event.name, user_of(frame)});
  }
  ++(*slots_)[frame.slot].open;
  stack_.push_back(frame);
}

void HostWalk::run(const Track& track, const LeafSink& sink) {
  at_ns_ = window_.start_ns;
  stack_.clear();
  for (const Event& event : track.events) {
    const Role role = role_of(event);
    if (role.skip) {
      continue;
    }
    pop_until(event.start_ns, sink);
    if (event.category == Category::kPython && event.link != Event::kNoId) {
      // The parent id is exact where rounded times leave a finished sibling open.
      const auto is_parent = [&](const Frame& frame) { return frame.python_id == event.link; };
      const size_t searched = std::min(stack_.size(), kMostFramesSearched);
      const auto nearest = stack_.end() - static_cast<std::ptrdiff_t>(searched);
      const auto parent = std::find_if(stack_.rbegin(), std::make_reverse_iterator(nearest), is_parent).base();
      if (parent != nearest) {
        const auto sibling =
            std::find_if(parent, stack_.end(), [](const Frame& frame) { return frame.python_id != Event::kNoId; });
        const size_t keep = static_cast<size_t>(sibling - stack_.begin());
        while (stack_.size() > keep) {
          pop(sink, event.start_ns);
        }
      }
    }
    advance(event.start_ns, sink);
    if (event.category == Category::kRuntime || event.category == Category::kDriver) {
      if (event.id != Event::kNoId) {
        Launched launch{event.id, kNoSlot, Event::kNoId, 0};
        if (!stack_.empty()) {
          const Frame& top = stack_.back();
          const uint32_t user = user_of(top);
          launch.issuer = user != kNoSlot ? user : top.leaf == Leaf::kPython ? kNoSlot : top.slot;
          launch.sequence = user != kNoSlot ? Event::kNoId : top.sequence;
          launch.comm = top.comm;
        }
        launches.push_back(launch);
      }
    }
    push(event, role);
  }
  while (!stack_.empty()) {
    pop(sink, stack_.back().end_ns);
  }
  advance(window_.end_ns, sink);
}

}  // namespace eroica
