#include "pattern/host_walk.h"

#include <algorithm>

#include "base/hash.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

// Deeper than real stacks; keeps hostile nesting from costing quadratic time.
constexpr size_t kMostFramesSearched = 256;

bool is_fetch_name(std::string_view raw_name) { return raw_name.starts_with("enumerate(DataLoader)#"); }

bool is_sync_call(std::string_view raw_name) {
  return raw_name.find("Synchronize") != std::string_view::npos || raw_name.starts_with("synchronize");
}

}  // namespace

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

HostWalk::HostWalk(const Trace& trace, FunctionSlots& slots, ElementCounts& elements, WindowClip window, bool gpu_job)
    : trace_(&trace),
      slots_(&slots),
      elements_(&elements),
      window_(window),
      gpu_job_(gpu_job),
      class_by_name_(trace.names.size()) {
  const auto count = [&](Category category) { return trace.category_count[static_cast<size_t>(category)]; };
  launches.reserve(count(Category::kRuntime) + count(Category::kDriver));
  operators.reserve(count(Category::kOperator));
  for (size_t category = 0; category < roles_.size(); ++category) {
    for (size_t name_class = 0; name_class < roles_[category].size(); ++name_class) {
      roles_[category][name_class] = role_of(static_cast<Category>(category), static_cast<NameClass>(name_class));
    }
  }
}

HostWalk::Role HostWalk::role_of(Category category, NameClass name_class) const {
  const FunctionKind operator_kind = gpu_job_ ? FunctionKind::kOperator : FunctionKind::kCompute;
  switch (category) {
    case Category::kPython: return {FunctionKind::kPython, Leaf::kPython, false};
    case Category::kOperator:
    case Category::kAnnotation:
    case Category::kOther:
      switch (name_class) {
        case kHostCollective: return {FunctionKind::kCollective, Leaf::kNone, true};
        case kFetchCall: return {FunctionKind::kFetch, Leaf::kPython, false};
        case kCommCall: return {FunctionKind::kOperator, Leaf::kComm, false};
        default: break;
      }
      if (category == Category::kOperator && name_class != kMark) {
        return {operator_kind, Leaf::kOperator, false};
      }
      return {FunctionKind::kPython, Leaf::kPython, false};
    case Category::kRuntime:
    case Category::kDriver:
      return name_class == kSyncCall ? Role{FunctionKind::kSync, Leaf::kSync, false}
                                     : Role{FunctionKind::kRuntime, Leaf::kRuntime, false};
    default: return {FunctionKind::kPython, Leaf::kNone, true};
  }
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
  if (frame.work > 0 && !frame.calls_work) {
    leaf_work.push_back({frame.start_ns - window_.start_ns, frame.work});
  }
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
  const Frame& caller = stack_.back();
  if (caller.user != kNoSlot) {
    launches.push_back({event.id, caller.user, Event::kNoId, caller.comm, event.start_ns});
  } else {
    const uint32_t issuer = caller.leaf == Leaf::kPython ? kNoSlot : caller.slot;
    launches.push_back({event.id, issuer, caller.sequence, caller.comm, event.start_ns});
  }
}

void HostWalk::add_args(const Event& event, Role role, Frame& frame) {
  const OpArgs& args = trace_->op_args[event.detail];
  if (args.input_dims != 0 && frame.start_ns <= window_.end_ns && frame.end_ns >= window_.start_ns) {
    slots_->add_shape(frame.slot, trace_->names.text_hash(args.input_dims));
    add_work(role, elements_->of(args.input_dims), frame);
  }
  if (frame.python == kNoSlot && args.call_stack != 0) {
    set_python(frame, slots_->call_stack(args.call_stack));
  }
  if (args.collective != 0 || (role.leaf == Leaf::kComm && args.input_dims != 0 &&
                               (frame.comm == 0 || trace_->op_args[frame.comm].collective == 0))) {
    frame.comm = event.detail;
  }
}

void HostWalk::add_work(Role role, double work, Frame& frame) {
  (*slots_)[frame.slot].work += work;
  if (role.kind != FunctionKind::kCompute || work <= 0) {
    return;
  }
  frame.work = work;
  if (frame.worker != kNoFrame) {
    stack_[frame.worker].calls_work = true;
  }
  frame.worker = static_cast<uint32_t>(stack_.size() - 1);
}

void HostWalk::add_operator(const Event& event, Role role, Frame& frame) {
  if (event.id != Event::kNoId) {
    operators.push_back({event.id, frame.user != kNoSlot ? frame.user : frame.slot});
  }
  if (event.link != Event::kNoId) {
    frame.sequence = event.link;
    if (frame.user != kNoSlot) {
      forward_ops.push_back({event.link, frame.user});
    }
  }
  if (role.leaf == Leaf::kComm) {
    comm_calls.push_back({event.start_ns - window_.start_ns, event.name, frame.user});
  }
}

// The profiler lists the stack that it finds when it starts as calls that begin then, one inside the other, within
// microseconds.
bool HostWalk::is_standing(const Event& event) {
  constexpr int64_t kLongestGap_ns = 10'000;
  const bool nested = stack_.back().slot == kNoSlot || stack_.back().start_ns == standing_ns_;
  standing_ =
      standing_ && nested && event.category == Category::kPython && event.start_ns - standing_ns_ < kLongestGap_ns;
  standing_ns_ = event.start_ns;
  return standing_;
}

void HostWalk::push(const Event& event, Role role) {
  const bool standing = is_standing(event);
  const bool is_call = event.category == Category::kRuntime || event.category == Category::kDriver;
  if (is_call && event.id != Event::kNoId) {
    add_launch(event);
  }
  Frame& frame = stack_.emplace_back(stack_.back());
  frame.leaf = role.leaf;
  frame.work = 0;
  frame.calls_work = false;
  frame.start_ns = event.start_ns;
  // Ends differ by rounding between what Python and the operators recorded; a child never outlives its parent.
  frame.end_ns = std::min(event.end_ns(), frame.end_ns);
  frame.python_id = Event::kNoId;
  if (event.category == Category::kPython) {
    frame.slot = slots_->frame(frame.python, event.name, standing);
    frame.python_id = event.id;
    set_python(frame, frame.slot);
  } else {
    frame.slot = slots_->plain(role.kind, event.name);
  }
  if (event.detail != 0 && (event.category == Category::kOperator || event.category == Category::kAnnotation)) {
    add_args(event, role, frame);
  }
  if (event.category == Category::kOperator) {
    add_operator(event, role, frame);
  }
  ++(*slots_)[frame.slot].open;
}

}  // namespace eroica
