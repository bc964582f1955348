#include "pattern/host_walk.h"

#include <algorithm>

#include "base/hash.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

// Deeper than real stacks; keeps hostile nesting from costing quadratic time.
constexpr size_t kMostFramesSearched = 256;

}  // namespace

bool is_fetch_name(std::string_view raw_name) { return raw_name.starts_with("enumerate(DataLoader)#"); }

bool is_sync_call(std::string_view raw_name) {
  return raw_name.find("Synchronize") != std::string_view::npos || raw_name.starts_with("synchronize");
}

HostWalk::NameClass HostWalk::classify(std::string_view name) {
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

HostWalk::HostWalk(const Trace& trace, FunctionSlots& slots, Window window, bool gpu_job)
    : trace_(&trace), slots_(&slots), window_(window), gpu_job_(gpu_job), class_by_name_(trace.names.size()) {
  for (size_t category = 0; category < roles_.size(); ++category) {
    for (size_t name_class = 0; name_class < roles_[category].size(); ++name_class) {
      roles_[category][name_class] = role_of(static_cast<Category>(category), static_cast<NameClass>(name_class));
    }
  }
}

HostWalk::Role HostWalk::role_of(const Event& event) {
  NameClass& name_class = class_by_name_[event.name];
  if (name_class == kUnseen) {
    name_class = classify(trace_->names.text(event.name));
  }
  return roles_[static_cast<size_t>(event.category)][name_class];
}

HostWalk::Role HostWalk::role_of(Category category, NameClass name_class) const {
  const FunctionKind operator_kind = gpu_job_ ? FunctionKind::kOperator : FunctionKind::kCompute;
  switch (category) {
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
      if (category == Category::kOperator && name_class != kMark) {
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

uint64_t HostWalk::shape_of(const Event& event) const {
  const bool has_args = event.category == Category::kOperator || event.category == Category::kAnnotation;
  if (!has_args || event.detail == 0) {
    return 0;
  }
  return trace_->names.text_hash(trace_->op_args[event.detail].input_dims);
}

void HostWalk::close(const Frame& frame, int64_t at_ns) {
  Slot& slot = (*slots_)[frame.slot];
  --slot.open;
  const int64_t start = std::max(frame.start_ns, window_.start_ns);
  const int64_t end = std::min(at_ns, window_.end_ns);
  if (end < start) {
    return;
  }
  slots_->add_execution(frame.slot, end - start);
  if (slot.open == 0) {
    slot.total_ns += end - start;
    if (frame.user != kNoSlot && frame.user != frame.slot) {
      issued_ns[(uint64_t{frame.slot} << 32) | frame.user] += end - start;
    }
  }
}

void HostWalk::set_python(Frame& frame, uint32_t slot) const {
  frame.python = slot;
  frame.user = slot == kNoSlot ? kNoSlot : (*slots_)[slot].user;
}

// How many frames of the stack are still open when a Python frame with this parent begins. The parent id is exact
// where rounded times leave a finished sibling open.
size_t HostWalk::frames_to_keep(uint32_t python_parent) const {
  const size_t searched = std::min(stack_.size(), kMostFramesSearched);
  const auto nearest = stack_.end() - static_cast<std::ptrdiff_t>(searched);
  const auto is_parent = [&](const Frame& frame) { return frame.python_id == python_parent; };
  const auto parent = std::find_if(stack_.rbegin(), std::make_reverse_iterator(nearest), is_parent).base();
  if (parent == nearest) {
    return stack_.size();
  }
  const auto sibling =
      std::find_if(parent, stack_.end(), [](const Frame& frame) { return frame.python_id != Event::kNoId; });
  return static_cast<size_t>(sibling - stack_.begin());
}

void HostWalk::add_launch(const Event& event) {
  Launched launch{event.id, kNoSlot, Event::kNoId, 0};
  if (!stack_.empty()) {
    const Frame& top = stack_.back();
    const bool is_user = top.user != kNoSlot;
    launch.issuer = is_user ? top.user : top.leaf == Leaf::kPython ? kNoSlot : top.slot;
    launch.sequence = is_user ? Event::kNoId : top.sequence;
    launch.comm = top.comm;
  }
  launches.push_back(launch);
}

void HostWalk::push(const Event& event, Role role) {
  const bool is_call = event.category == Category::kRuntime || event.category == Category::kDriver;
  if (is_call && event.id != Event::kNoId) {
    add_launch(event);
  }
  Frame frame{};
  frame.leaf = role.leaf;
  frame.start_ns = event.start_ns;
  frame.end_ns = event.end_ns();
  frame.python = kNoSlot;
  frame.python_id = Event::kNoId;
  frame.user = kNoSlot;
  frame.sequence = Event::kNoId;
  if (!stack_.empty()) {
    const Frame& parent = stack_.back();
    // Ends differ by rounding between what Python and the operators recorded; a child never outlives its parent.
    frame.end_ns = std::min(frame.end_ns, parent.end_ns);
    frame.python = parent.python;
    frame.user = parent.user;
    frame.sequence = parent.sequence;
    frame.comm = parent.comm;
  }
  if (event.category == Category::kPython) {
    frame.slot = slots_->frame(frame.python, event.name);
    set_python(frame, frame.slot);
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
      set_python(frame, slots_->call_stack(args.call_stack));
    }
    if (args.collective != 0 || (role.leaf == Leaf::kComm && args.input_dims != 0 &&
                                 (frame.comm == 0 || trace_->op_args[frame.comm].collective == 0))) {
      frame.comm = event.detail;
    }
  }
  if (event.category == Category::kOperator && event.id != Event::kNoId) {
    operators.push_back({event.id, frame.user != kNoSlot ? frame.user : frame.slot});
  }
  if (event.category == Category::kOperator && event.link != Event::kNoId) {
    frame.sequence = event.link;
    if (frame.user != kNoSlot) {
      forward_ops.push_back({event.link, frame.user});
    }
  }
  if (role.leaf == Leaf::kComm && event.category == Category::kOperator) {
    comm_calls.push_back({event.start_ns - window_.start_ns, event.name, frame.user});
  }
  ++(*slots_)[frame.slot].open;
  stack_.push_back(frame);
}

}  // namespace eroica
