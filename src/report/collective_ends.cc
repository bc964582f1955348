#include "report/collective_ends.h"

#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/saturate.h"
#include "pattern/collectives.h"

namespace eroica {

CollectiveReader::CollectiveReader(const Trace& trace)
    : trace_(trace), kernel_names_(trace.names.size()), host_names_(trace.names.size()) {
  for (uint32_t name = 0; name < trace.names.size(); ++name) {
    kernel_names_[name] = is_collective_kernel(trace.names.text(name));
    host_names_[name] = is_host_collective(trace.names.text(name));
  }
  for (const Track& track : trace.tracks) {
    if (!track.device) follow_launches(track);
  }
}

/// Events come by start, outermost first.
void CollectiveReader::follow_launches(const Track& track) {
  struct Open {
    int64_t end_ns;
    uint32_t collective;
  };
  std::vector<Open> open;  // operators that tell of a collective
  for (const Event& event : track.events) {
    while (!open.empty() && open.back().end_ns <= event.start_ns) open.pop_back();
    if (event.category == Category::kOperator && trace_.op_args[event.detail].collective != 0) {
      open.push_back({event.end_ns(), trace_.op_args[event.detail].collective});
    } else if ((event.category == Category::kRuntime || event.category == Category::kDriver) && !open.empty() &&
               event.id != Event::kNoId) {
      launched_.try_emplace(event.id, open.back().collective);
    }
  }
}

/// What an event says of itself, else the operator that launched it; nullptr where there is nothing.
const CollectiveArgs* CollectiveReader::args_of(const Track& track, const Event& event) const {
  uint32_t index = 0;
  if (!track.device) {
    index = trace_.op_args[event.detail].collective;
  } else if (event.category == Category::kKernel) {
    index = trace_.launches[event.detail].collective;
    const auto launch = index == 0 ? launched_.find(event.id) : launched_.end();
    if (launch != launched_.end()) index = launch->second;
  }
  return index == 0 ? nullptr : &trace_.collectives[index];
}

bool CollectiveReader::runs(const Track& track, const Event& event) const {
  if (!track.device) return event.category == Category::kAnnotation && host_names_[event.name];
  return event.category == Category::kKernel &&
         (trace_.launches[event.detail].collective != 0 || kernel_names_[event.name]);
}

CollectiveFacts CollectiveReader::facts(const Track& track, const Event& event) const {
  CollectiveFacts facts;
  const auto text = [&](uint32_t name) { return std::string(trace_.names.text(name)); };
  const CollectiveArgs* args = args_of(track, event);
  if (args != nullptr) {
    facts.kind = collective_kind(trace_.names.text(args->kind));
    facts.group = text(args->group_name);
    if (facts.group.empty()) facts.group = text(args->group_desc);
    if (args->group_ranks != 0) facts.group += (facts.group.empty() ? "" : " ") + text(args->group_ranks);
    facts.sequence = args->sequence;
    facts.bytes = payload_bytes(*args, trace_.names);
    facts.peer = std::max(args->src_rank, args->dst_rank);
  }
  if (facts.kind.empty() || facts.kind == "collective") facts.kind = collective_kind(trace_.names.text(event.name));
  if (facts.bytes < 0 && !track.device) {
    const OpArgs& op = trace_.op_args[event.detail];
    facts.bytes = payload_bytes(trace_.names.text(op.input_dims), trace_.names.text(op.input_types));
  }
  facts.barrier = is_barrier(facts.kind);
  return facts;
}

std::vector<CollectiveEnd> collective_ends(const Trace& trace) {
  const CollectiveReader reader(trace);
  std::vector<CollectiveEnd> ends;
  for (const Track& track : trace.tracks) {
    for (const Event& event : track.events) {
      if (!reader.runs(track, event)) continue;
      const CollectiveFacts facts = reader.facts(track, event);
      if (!facts.barrier) continue;
      // Sizes are left to one key: more ends make a surer fingerprint. Numbers count all kinds of a group.
      const uint64_t group = hash_bytes(facts.group);
      ends.push_back({facts.sequence >= 0 ? group : hash_combine(hash_bytes(facts.kind), group), facts.sequence,
                      saturating_add(trace.base_unix_ns, event.end_ns())});
    }
  }
  return ends;
}

}  // namespace eroica
