#include "compare/timeline_graph.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "base/saturate.h"

namespace eroica {
namespace {

constexpr int64_t kSlackNs = 1'000'000;  // by which clocks of streams on one worker may disagree
constexpr int kMostOverlapping = 64;     // operations of one stream that are open at once
constexpr int32_t kAnyChunk = -1;

/// What is meant to begin together has equal keys.
struct SyncKey {
  uint64_t kind = 0;  // name, or direction of a transfer between stages
  uint64_t place = 0;
  uint64_t sequence = 0;
  auto operator<=>(const SyncKey&) const = default;
};

uint64_t pack(int64_t high, int64_t low) {
  return uint64_t{static_cast<uint32_t>(high)} << 32 | static_cast<uint32_t>(low);
}

/// The operations of one worker in one step, as nodes (places in the order by step, worker and start).
class WorkerStep {
 public:
  WorkerStep(const OpTimeline& timeline, std::span<const uint32_t> rows, std::span<const OpScope> scope_of_name,
             uint32_t first_node, StepGraphSpec& spec)
      : timeline_(timeline), rows_(rows), scope_of_name_(scope_of_name), first_node_(first_node), spec_(spec) {
    for (uint32_t at = 0; at < rows_.size(); ++at) sort_in(at);
  }

  void add_edges(int32_t stage, int32_t last_stage) {
    chain(main_);
    chain(data_parallel_);
    for (const OpType type :
         {OpType::kForwardSend, OpType::kForwardRecv, OpType::kBackwardSend, OpType::kBackwardRecv}) {
      chain(of(type));
    }
    const bool first = stage == 0;
    const bool last = stage == last_stage;
    link_receives(of(OpType::kForwardRecv), of(OpType::kForwardCompute), first ? Skip::kLowest : Skip::kNone);
    link_sends(of(OpType::kForwardSend), of(OpType::kForwardCompute), last ? Skip::kHighest : Skip::kNone);
    link_receives(of(OpType::kBackwardRecv), of(OpType::kBackwardCompute), last ? Skip::kHighest : Skip::kNone);
    link_sends(of(OpType::kBackwardSend), of(OpType::kBackwardCompute), first ? Skip::kLowest : Skip::kNone);
    link_data_parallel();
  }

  /// The k of each operation among those of its type: the file's number where it is unique, else by start.
  void number(std::span<uint64_t> sequence) const {
    std::map<uint32_t, std::vector<uint32_t>> by_name;
    for (uint32_t at = 0; at < rows_.size(); ++at) {
      if (is_transfer(scope(at))) by_name[timeline_.name[rows_[at]]].push_back(at);
    }
    for (const auto& [name, list] : by_name) {
      std::vector<int32_t> numbers;
      for (const uint32_t at : list) numbers.push_back(timeline_.sequence[rows_[at]]);
      std::ranges::sort(numbers);
      const bool unique = numbers.front() >= 0 && std::ranges::adjacent_find(numbers) == numbers.end();
      for (uint32_t k = 0; k < list.size(); ++k) {
        sequence[list[k]] = unique ? static_cast<uint64_t>(timeline_.sequence[rows_[list[k]]]) : k;
      }
    }
  }

 private:
  using List = std::vector<uint32_t>;  // places among rows_, by start
  enum class Skip : uint8_t { kNone, kLowest, kHighest };

  [[nodiscard]] const List& of(OpType type) const { return by_type_[static_cast<size_t>(type)]; }
  [[nodiscard]] OpScope scope(uint32_t at) const { return scope_of_name_[timeline_.name[rows_[at]]]; }
  [[nodiscard]] int64_t start_ns(uint32_t at) const { return timeline_.start_ns[rows_[at]]; }
  [[nodiscard]] int64_t end_ns(uint32_t at) const {
    return saturating_add(start_ns(at), timeline_.duration_ns[rows_[at]]);
  }
  [[nodiscard]] int32_t chunk(uint32_t at) const { return timeline_.chunk[rows_[at]]; }

  void sort_in(uint32_t at) {
    const OpType type = timeline_.type[rows_[at]];
    by_type_[static_cast<size_t>(type)].push_back(at);
    switch (type) {
      case OpType::kForwardCompute:
      case OpType::kBackwardCompute:
      case OpType::kOther:
        main_.push_back(at);
        break;
      case OpType::kParamsSync:
      case OpType::kGradsSync:
        data_parallel_.push_back(at);
        break;
      default:
        break;
    }
  }

  void edge(uint32_t before, uint32_t after) { spec_.after.emplace_back(first_node_ + before, first_node_ + after); }
  void chain(const List& list) {
    for (size_t i = 1; i < list.size(); ++i) edge(list[i - 1], list[i]);
  }

  /// The computations that have a transfer. With several chunks on a worker, the first stage receives nothing for its
  /// first chunk and the last stage sends nothing from its last one.
  [[nodiscard]] List partners(const List& computations, Skip skip) const {
    if (skip == Skip::kNone || computations.empty()) return computations;
    int32_t skipped = chunk(computations.front());
    for (const uint32_t at : computations) {
      skipped = skip == Skip::kLowest ? std::min(skipped, chunk(at)) : std::max(skipped, chunk(at));
    }
    List kept;
    for (const uint32_t at : computations) {
      if (chunk(at) != skipped) kept.push_back(at);
    }
    return kept;
  }

  void link_receives(const List& receives, const List& computations, Skip skip) {
    const List matched = partners(computations, skip);
    if (matched.size() == receives.size()) {
      for (size_t k = 0; k < receives.size(); ++k) edge(receives[k], matched[k]);
      return;
    }
    for (const uint32_t receive : receives) {  // rows are missing: what began after it
      const auto next = std::ranges::lower_bound(computations, saturating_subtract(end_ns(receive), kSlackNs), {},
                                                 [this](uint32_t at) { return start_ns(at); });
      if (next != computations.end()) edge(receive, *next);
    }
  }

  void link_sends(const List& sends, const List& computations, Skip skip) {
    const List matched = partners(computations, skip);
    if (matched.size() == sends.size()) {
      for (size_t k = 0; k < sends.size(); ++k) edge(matched[k], sends[k]);
      return;
    }
    for (const uint32_t send : sends) {
      if (const auto before = last_done(computations, start_ns(send))) edge(*before, send);
    }
  }

  /// The last of the list, in the order of their starts, of those that had ended by then.
  [[nodiscard]] std::optional<uint32_t> last_done(const List& list, int64_t by_ns) const {
    auto next = std::ranges::upper_bound(list, by_ns, {}, [this](uint32_t at) { return start_ns(at); });
    for (int looked_at = 0; next != list.begin() && looked_at < kMostOverlapping; ++looked_at) {
      const uint32_t at = *--next;
      const int64_t slack_ns = std::min(kSlackNs, timeline_.duration_ns[rows_[at]] / 20);
      if (end_ns(at) <= saturating_add(by_ns, slack_ns)) return at;
    }
    return std::nullopt;
  }

  /// The computation that `ends` knows for the chunk of `at`, or for any chunk where it names none.
  [[nodiscard]] std::optional<uint32_t> of_chunk(const std::map<int32_t, uint32_t>& ends, uint32_t at) const {
    const auto found = ends.find(std::max(chunk(at), kAnyChunk));
    return found == ends.end() ? std::nullopt : std::optional(found->second);
  }

  void link_data_parallel() {
    const List& backwards = of(OpType::kBackwardCompute);
    const int64_t all_done_ns = backwards.empty() ? std::numeric_limits<int64_t>::min() : end_ns(backwards.back());
    std::map<int32_t, uint32_t> first_forward;
    for (const uint32_t forward : of(OpType::kForwardCompute)) {
      first_forward.try_emplace(kAnyChunk, forward);
      first_forward.try_emplace(chunk(forward), forward);
    }
    std::map<int32_t, uint32_t> last_backward;
    for (const uint32_t backward : backwards) last_backward[chunk(backward)] = last_backward[kAnyChunk] = backward;
    for (const uint32_t at : data_parallel_) {
      std::optional<uint32_t> first = of_chunk(first_forward, at);
      const std::optional<uint32_t> any = first ? std::optional(first_forward.at(kAnyChunk)) : std::nullopt;
      if (any && end_ns(at) <= start_ns(*any)) first = any;  // not overlapped: nothing began before it ended
      if (first && start_ns(at) <= start_ns(*first)) {
        edge(at, *first);
        continue;
      }
      if (timeline_.type[rows_[at]] == OpType::kGradsSync) {
        if (const auto last = of_chunk(last_backward, at); last && start_ns(*last) <= start_ns(at)) edge(*last, at);
      }
      if (start_ns(at) < saturating_subtract(all_done_ns, kSlackNs)) continue;  // overlaps other chunks' work
      if (const auto before = last_done(main_, start_ns(at))) edge(*before, at);
    }
    for (const uint32_t at : main_) {  // what follows the last backward waits for what had ended
      if (timeline_.type[rows_[at]] != OpType::kOther || start_ns(at) < all_done_ns) continue;
      if (const auto before = last_done(data_parallel_, start_ns(at))) edge(*before, at);
    }
  }

  const OpTimeline& timeline_;
  std::span<const uint32_t> rows_;
  std::span<const OpScope> scope_of_name_;
  uint32_t first_node_;
  StepGraphSpec& spec_;
  List by_type_[static_cast<size_t>(OpType::kOther) + 1];
  List main_;
  List data_parallel_;
};

std::vector<uint32_t> rows_in_order(const OpTimeline& timeline) {
  struct Place {
    int32_t step;
    uint32_t worker;
    int64_t start_ns;
    int64_t end_ns;
    uint32_t row;
  };
  std::vector<Place> places;
  places.reserve(timeline.size());
  for (uint32_t row = 0; row < timeline.size(); ++row) {
    places.push_back({timeline.step[row], timeline.worker[row], timeline.start_ns[row],
                      saturating_add(timeline.start_ns[row], timeline.duration_ns[row]), row});
  }
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::tuple(place.step, place.worker, place.start_ns, place.end_ns, place.row);
  });
  std::vector<uint32_t> rows;
  rows.reserve(places.size());
  for (const Place& place : places) rows.push_back(place.row);
  return rows;
}

SyncKey sync_key(const OpTimeline& timeline, uint32_t row, OpScope scope, uint64_t sequence, int32_t stages) {
  const TimelineWorker& worker = timeline.workers[timeline.worker[row]];
  SyncKey key{.kind = timeline.name[row], .place = 0, .sequence = sequence};
  switch (scope) {
    case OpScope::kNextStage: {
      // Named by the stage that sends; the last stage's next is the first (virtual pipeline).
      const OpType type = timeline.type[row];
      const bool forward = type == OpType::kForwardSend || type == OpType::kForwardRecv;
      int64_t from = worker.stage;
      if (type == OpType::kForwardRecv) from = (int64_t{worker.stage} + stages - 1) % stages;
      if (type == OpType::kBackwardRecv) from = (int64_t{worker.stage} + 1) % stages;
      key.kind = (uint64_t{1} << 40) + (forward ? 0 : 1);
      key.place = pack(worker.dp, from);
      key.sequence = pack(worker.lane, static_cast<int64_t>(sequence));
      break;
    }
    case OpScope::kDataParallel:
      key.place = pack(worker.stage, worker.lane);
      break;
    case OpScope::kTensorParallel:
      key.place = pack(worker.dp, worker.stage);
      break;
    case OpScope::kStages:
      key.place = pack(worker.dp, worker.lane);
      break;
    default:
      break;
  }
  return key;
}

struct Member {
  SyncKey key;
  uint32_t node;
};

bool distinct_workers(std::span<const Member> members, const OpTimeline& timeline, std::span<const uint32_t> rows) {
  for (size_t i = 1; i < members.size(); ++i) {  // nodes of a step are in the order of their workers
    if (timeline.worker[rows[members[i].node]] == timeline.worker[rows[members[i - 1].node]]) return false;
  }
  return true;
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<OpScope> scopes_of_names(const OpTimeline& timeline) {
  std::vector<OpScope> scopes;
  for (uint32_t name = 0; name < timeline.names.size(); ++name) {
    const std::string_view text = timeline.names.text(name);
    scopes.push_back(op_scope(op_type_of(text), text));
  }
  return scopes;
}

}  // namespace

OpScope op_scope(OpType type, std::string_view name) {
  switch (type) {
    case OpType::kForwardCompute:
    case OpType::kBackwardCompute:
      return OpScope::kCompute;
    case OpType::kForwardSend:
    case OpType::kForwardRecv:
    case OpType::kBackwardSend:
    case OpType::kBackwardRecv:
      return OpScope::kNextStage;
    case OpType::kParamsSync:
    case OpType::kGradsSync:
      return OpScope::kDataParallel;
    case OpType::kOther:
      break;
  }
  std::string text(name);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  const bool collective = has("all-reduce") || has("allreduce") || has("all-gather") || has("allgather") ||
                          has("reduce-scatter") || has("broadcast") || has("barrier") || has("all-to-all");
  if (has("clip") || has("grad-norm") || has("barrier")) return OpScope::kJob;
  if (!collective) return has("send") || has("recv") ? OpScope::kUnknown : OpScope::kCompute;
  if (has("embedding")) return OpScope::kStages;
  if (has("layernorm") || has("tp-") || has("tensor") || has("sequence-parallel")) return OpScope::kTensorParallel;
  if (has("params") || has("dp-")) return OpScope::kDataParallel;
  return OpScope::kUnknown;
}

TimelineGraph build_timeline_graph(const OpTimeline& timeline) {
  const std::vector<uint32_t> rows = rows_in_order(timeline);
  const std::vector<OpScope> scope_of_name = scopes_of_names(timeline);
  const auto count = static_cast<uint32_t>(rows.size());
  // Stages may be numbered with holes only where workers are missing: then nobody answers there, which is right.
  int32_t stages = 1;
  for (const TimelineWorker& worker : timeline.workers)
    stages = std::max(stages, worker.stage < INT32_MAX ? worker.stage + 1 : worker.stage);

  TimelineGraph result;
  StepGraphSpec spec;
  spec.step.resize(count);
  spec.sync_group.assign(count, StepGraphSpec::kAlone);
  spec.after.reserve(size_t{count} * 2);
  std::vector<double> own_ns(count);
  std::vector<uint64_t> sequence(count, 0);
  std::vector<uint32_t> unmatched;
  std::vector<std::vector<double>> usual(timeline.names.size());  // own_ns of matched ones, by name
  uint32_t groups = 0;

  std::vector<Member> members;
  const auto take_group = [&](std::span<const Member> group) {
    const uint32_t first_row = rows[group.front().node];
    const OpScope scope = scope_of_name[timeline.name[first_row]];
    const bool pair = scope == OpScope::kNextStage;
    const bool good =
        scope != OpScope::kUnknown && (pair ? group.size() == 2 : true) && distinct_workers(group, timeline, rows);
    if (!good) {
      for (const Member& member : group) unmatched.push_back(member.node);
      return;
    }
    int64_t shortest_ns = std::numeric_limits<int64_t>::max();
    for (const Member& member : group) shortest_ns = std::min(shortest_ns, timeline.duration_ns[rows[member.node]]);
    for (const Member& member : group) {
      own_ns[member.node] = static_cast<double>(shortest_ns);
      usual[timeline.name[rows[member.node]]].push_back(own_ns[member.node]);
      if (group.size() > 1) spec.sync_group[member.node] = groups;
    }
    if (group.size() > 1) ++groups;
  };
  const auto close_step = [&] {
    std::ranges::sort(members, {}, [](const Member& member) { return std::pair(member.key, member.node); });
    for (size_t from = 0; from < members.size();) {
      size_t to = from + 1;
      while (to < members.size() && members[to].key == members[from].key) ++to;
      take_group(std::span(members).subspan(from, to - from));
      from = to;
    }
    members.clear();
  };

  for (uint32_t from = 0; from < count;) {
    const int32_t step = timeline.step[rows[from]];
    const uint32_t worker = timeline.worker[rows[from]];
    if (result.steps.empty() || result.steps.back() != step) {
      close_step();
      result.steps.push_back(step);
    }
    uint32_t to = from + 1;
    while (to < count && timeline.step[rows[to]] == step && timeline.worker[rows[to]] == worker) ++to;
    WorkerStep work(timeline, std::span(rows).subspan(from, to - from), scope_of_name, from, spec);
    work.add_edges(timeline.workers[worker].stage, stages - 1);
    work.number(std::span(sequence).subspan(from, to - from));
    for (uint32_t node = from; node < to; ++node) {
      spec.step[node] = static_cast<uint32_t>(result.steps.size() - 1);
      const OpScope scope = scope_of_name[timeline.name[rows[node]]];
      if (is_transfer(scope)) {
        members.push_back({sync_key(timeline, rows[node], scope, sequence[node], stages), node});
      } else {
        own_ns[node] = static_cast<double>(timeline.duration_ns[rows[node]]);
      }
    }
    from = to;
  }
  close_step();

  std::vector<double> usual_ns(usual.size(), -1);
  for (const uint32_t node : unmatched) {
    const uint32_t name = timeline.name[rows[node]];
    if (usual_ns[name] < 0) usual_ns[name] = usual[name].empty() ? 0 : median_of(usual[name]);
    const auto measured_ns = static_cast<double>(timeline.duration_ns[rows[node]]);
    own_ns[node] = usual[name].empty() ? measured_ns : std::min(measured_ns, usual_ns[name]);
  }
  result.unmatched = unmatched.size();

  std::map<int32_t, uint32_t> stage_index;
  for (const TimelineWorker& worker : timeline.workers) stage_index[worker.stage] = 0;
  uint32_t next_stage = 0;
  for (auto& [stage, index] : stage_index) index = next_stage++;

  result.graph = build_step_graph(spec);
  for (const uint32_t node : result.graph.node) {
    const uint32_t row = rows[node];
    result.operation.push_back(row);
    result.worker.push_back(timeline.worker[row]);
    result.stage.push_back(stage_index[timeline.workers[timeline.worker[row]].stage]);
    result.kind.push_back(timeline.name[row]);
    result.scope.push_back(scope_of_name[timeline.name[row]]);
    result.own_ns.push_back(own_ns[node]);
  }
  return result;
}

}  // namespace eroica
