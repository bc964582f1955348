#include "pattern/collective_patterns.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/saturate.h"
#include "pattern/collectives.h"
#include "pattern/edge_numbers.h"
#include "pattern/window_end.h"

namespace eroica {
namespace {

// "Concrete Inputs" of c10d::send and c10d::recv_: ["", "", PEER, TAG].
int32_t peer_of(std::string_view concrete_inputs) {
  size_t at = 0;
  for (int quote = 0; quote < 5; ++quote) {
    at = concrete_inputs.find('"', at);
    if (at == std::string_view::npos) {
      return -1;
    }
    ++at;
  }
  int32_t peer = -1;
  std::from_chars(concrete_inputs.data() + at, concrete_inputs.data() + concrete_inputs.size(), peer);
  return peer;
}

// The peers of point-to-point calls in order of issue; gloo's own annotations do not tell them.
std::vector<int32_t> issued_peers(const Trace& trace, const WindowClip& window, std::string_view op_prefix) {
  std::vector<int32_t> peers;
  for (const Track& track : trace.tracks) {
    for (const Event& event : track.events) {
      if (event.category == Category::kOperator && event.detail != 0 && event.start_ns >= window.start_ns &&
          event.start_ns < window.end_ns && trace.names.text(event.name).starts_with(op_prefix)) {
        peers.push_back(peer_of(trace.names.text(trace.op_args[event.detail].concrete_inputs)));
      }
    }
  }
  return peers;
}

// Threads of gloo come in pairs of consecutive ids, one pair a process group; the pair's place in the order of ids is
// the same on every rank that made its groups in the same order.
std::unordered_map<uint32_t, std::string> gloo_thread_groups(const Trace& trace, const DeviceWork& work) {
  std::vector<std::pair<int64_t, uint32_t>> threads;
  for (const CollectiveRun& run : work.runs) {
    const Track& track = trace.tracks[run.track];
    int64_t tid = 0;
    const auto parsed = std::from_chars(track.tid.data(), track.tid.data() + track.tid.size(), tid);
    if (!track.device && parsed.ec == std::errc()) {
      threads.emplace_back(tid, run.track);
    }
  }
  std::sort(threads.begin(), threads.end());
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  std::unordered_map<uint32_t, std::string> names;
  int group = -1;
  int64_t pair_first = INT64_MIN;
  for (const auto& [tid, track] : threads) {
    if (tid - 1 != pair_first) {
      ++group;
      pair_first = tid;
    } else {
      pair_first = INT64_MIN;
    }
    names[track] = "gloo " + std::to_string(group);
  }
  return names;
}

// What a collective says of itself: its own arguments, else those of the operator that launched it.
struct CollectiveWords {
  const CollectiveArgs* args = nullptr;
  std::string kind;
  std::string dtype;
  int64_t bytes = -1;
};

CollectiveWords words_of(const Trace& trace, const CollectiveRun& run, IssuerLookup& lookup, CollectiveKinds& kinds) {
  CollectiveWords words;
  const Event& event = *run.event;
  uint32_t op_args = trace.tracks[run.track].device ? 0 : event.detail;
  uint32_t collective = 0;
  if (trace.tracks[run.track].device) {
    collective = trace.launches[event.detail].collective;
    if (const Launched* launch = lookup.launch_of(event.id)) {
      op_args = launch->comm;
    }
  }
  if (collective == 0) {
    collective = trace.op_args[op_args].collective;
  }
  words.kind = kinds.of(event.name);
  if (collective != 0) {
    words.args = &trace.collectives[collective];
    words.dtype = trace.names.text(words.args->dtype);
    if (words.args->kind != 0) {
      const std::string& said = kinds.of(words.args->kind);
      words.kind = said == "collective" || said == "coalesced" ? words.kind : said;
    }
    words.bytes = payload_bytes(*words.args, trace.names);
  } else {
    const OpArgs& args = trace.op_args[op_args];
    const std::string_view types = trace.names.text(args.input_types);
    words.bytes = payload_bytes(trace.names.text(args.input_dims), types);
    words.dtype = first_dtype(types);
  }
  return words;
}

// Gives the collectives of groups whose trace tells no sequence numbers those of the flight recorder.
void number_instances(const Trace& trace, const WindowClip& window, const DeviceWork& work, const WindowEdges& edges,
                      CollectiveTable& table, IssuerLookup& lookup, RankPattern& pattern) {
  if (!edges.start || !edges.end) return;
  struct Group {
    std::vector<size_t> instances;
    std::vector<CountedRun> runs;
    bool usable = true;
    bool on_device = false;
  };
  std::map<uint32_t, Group> groups;
  for (size_t i = 0; i < work.runs.size(); ++i) {
    const CollectiveRun& run = work.runs[i];
    const CollectiveSummary& summary = table.summaries()[pattern.instances[i].summary];
    Group& group = groups[summary.group];
    const bool on_device = trace.tracks[run.track].device;
    // Who counts exchanges along differs between backends.
    group.usable = group.usable && pattern.instances[i].sequence < 0 && !is_exchange(summary.kind) &&
                   (group.runs.empty() || on_device == group.on_device);
    group.on_device = on_device;
    const Launched* launch = on_device ? lookup.launch_of(run.event->id) : nullptr;
    group.instances.push_back(i);
    group.runs.push_back({launch != nullptr ? saturating_add(trace.base_unix_ns, launch->start_ns) : INT64_MIN,
                          saturating_add(trace.base_unix_ns, run.event->end_ns())});
  }
  const int64_t window_end_unix_ns = saturating_add(trace.base_unix_ns, window.end_ns);
  for (const auto& [index, group] : groups) {
    if (!group.usable) continue;
    const std::optional<int64_t> first =
        first_sequence(group.runs, group.on_device, edges, table.groups()[index].name, window_end_unix_ns);
    for (size_t k = 0; first && k < group.instances.size(); ++k) {
      pattern.instances[group.instances[k]].sequence = *first + static_cast<int64_t>(k);
    }
  }
}

}  // namespace

void add_unused_groups(const std::vector<ProcessGroup>& known, RankPattern& pattern) {
  for (const ProcessGroup& group : known) {
    const bool member = std::find(group.ranks.begin(), group.ranks.end(), pattern.rank) != group.ranks.end();
    const bool listed = std::any_of(pattern.groups.begin(), pattern.groups.end(), [&](const GroupPattern& other) {
      return other.name == group.name && other.ranks == group.ranks;
    });
    if (member && group.ranks.size() > 1 && !listed) {
      pattern.groups.push_back({group.name, group.desc, group.ranks, static_cast<int32_t>(group.ranks.size())});
    }
  }
}

void fill_collectives(const Trace& trace, const WindowClip& window, const DeviceWork& work, IssuerLookup& lookup,
                      const std::vector<ProcessGroup>& known, const WindowEdges& edges, const Steps& steps,
                      FunctionSlots& slots, RankPattern& pattern) {
  CollectiveTable table(trace, known, pattern.rank);
  const std::unordered_map<uint32_t, std::string> gloo_groups = gloo_thread_groups(trace, work);
  CollectiveKinds kinds(trace.names);
  std::vector<size_t> sends;
  std::vector<size_t> recvs;
  std::vector<uint32_t> next_position;
  std::vector<int64_t> covered_until;
  std::vector<std::vector<int64_t>> step_ns;

  for (const CollectiveRun& run : work.runs) {
    const Track& track = trace.tracks[run.track];
    const CollectiveWords words = words_of(trace, run, lookup, kinds);
    const auto gloo = gloo_groups.find(run.track);
    const std::string fallback = gloo != gloo_groups.end() ? gloo->second : "stream " + std::to_string(track.stream);
    const uint32_t group = table.group_of(words.args, fallback);
    const uint32_t index = table.summary_of(words.kind, words.dtype, group);
    next_position.resize(std::max<size_t>(next_position.size(), group + 1));
    covered_until.resize(std::max<size_t>(covered_until.size(), index + 1), INT64_MIN);
    step_ns.resize(std::max<size_t>(step_ns.size(), index + 1), std::vector<int64_t>(steps.steps.size()));

    CollectiveSummary& summary = table.summaries()[index];
    ++summary.count;
    summary.exposed_ns += run.exposed_ns;
    summary.durations.add(run.end_ns - run.start_ns);
    if (words.bytes > 0) {
      summary.bytes = saturating_add(summary.bytes, words.bytes);
      slots[run.slot].bytes = saturating_add(slots[run.slot].bytes, words.bytes);
    }
    const int64_t from = std::max(run.start_ns, covered_until[index]);
    if (run.end_ns > from) {
      summary.total_ns += run.end_ns - from;
      covered_until[index] = run.end_ns;
      const auto later = [&](int64_t time, const Step& step) { return time < step.end_ns - window.start_ns; };
      auto step = std::upper_bound(steps.steps.begin(), steps.steps.end(), from, later);
      for (; step != steps.steps.end() && step->start_ns - window.start_ns < run.end_ns; ++step) {
        const int64_t begin = std::max(from, step->start_ns - window.start_ns);
        const int64_t end = std::min(run.end_ns, step->end_ns - window.start_ns);
        step_ns[index][static_cast<size_t>(step - steps.steps.begin())] += std::max<int64_t>(end - begin, 0);
      }
    }
    CollectiveInstance instance;
    instance.summary = index;
    instance.sequence = words.args != nullptr ? words.args->sequence : -1;
    instance.position = next_position[group]++;
    instance.start_ns = run.start_ns;
    instance.duration_ns = run.end_ns - run.start_ns;
    instance.bytes = words.bytes;
    if (words.args != nullptr) {
      instance.peer = words.kind == "recv" ? words.args->src_rank : words.kind == "send" ? words.args->dst_rank : -1;
    }
    if (words.kind == "send") {
      sends.push_back(pattern.instances.size());
    } else if (words.kind == "recv") {
      recvs.push_back(pattern.instances.size());
    }
    pattern.instances.push_back(instance);
  }
  const auto give_peers = [&](const std::vector<size_t>& instances, std::string_view op_prefix) {
    if (instances.empty()) {
      return;
    }
    const std::vector<int32_t> peers = issued_peers(trace, window, op_prefix);
    for (size_t i = 0; i < instances.size() && instances.size() == peers.size(); ++i) {
      int32_t& peer = pattern.instances[instances[i]].peer;
      peer = peer < 0 ? peers[i] : peer;
    }
  };
  give_peers(sends, "c10d::send");
  give_peers(recvs, "c10d::recv");
  number_instances(trace, window, work, edges, table, lookup, pattern);
  pattern.instances_seen = pattern.instances.size();
  fill_open_collectives(trace, window, work, table, kinds, pattern);
  pattern.groups = table.groups();
  add_unused_groups(known, pattern);
  pattern.collectives = std::move(table.summaries());
  for (size_t i = 0; i < pattern.collectives.size(); ++i) {
    pattern.collectives[i].step_total_us = quantise_us(step_ns[i]);
  }
}

std::vector<uint32_t> quantise_us(std::span<const int64_t> series_ns) {
  std::vector<uint32_t> series_us;
  series_us.reserve(series_ns.size());
  for (const int64_t ns : series_ns) {
    series_us.push_back(static_cast<uint32_t>(std::min<int64_t>((ns + 500) / 1000, UINT32_MAX)));
  }
  return series_us;
}

}  // namespace eroica
