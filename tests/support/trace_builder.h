#pragma once

#include <map>
#include <string>
#include <utility>

#include "trace/trace.h"

namespace eroica {

/// Builds small traces for tests; times in µs.
class TraceBuilder {
 public:
  Trace trace;

  uint32_t track(const std::string& pid, const std::string& tid, bool device) {
    const auto [found, is_new] =
        tracks_.try_emplace({pid, tid + (device ? "d" : "h")}, static_cast<uint32_t>(trace.tracks.size()));
    if (is_new) {
      Track track;
      track.pid = pid;
      track.tid = tid;
      track.device = device;
      track.stream = device ? std::stoll(tid) : -1;
      trace.tracks.push_back(std::move(track));
    }
    return found->second;
  }

  Event& add(uint32_t track, Category category, const std::string& name, int64_t start_us, int64_t duration_us) {
    Event event{};
    event.start_ns = start_us * 1000;
    event.duration_ns = duration_us * 1000;
    event.name = trace.names.intern(name);
    event.id = Event::kNoId;
    event.link = Event::kNoId;
    event.category = category;
    trace.tracks[track].events.push_back(event);
    ++trace.timed_events;
    ++trace.category_count[static_cast<size_t>(category)];
    trace.category_ns[static_cast<size_t>(category)] += event.duration_ns;
    return trace.tracks[track].events.back();
  }

  Event& host(Category category, const std::string& name, int64_t start_us, int64_t duration_us,
              const std::string& tid = "100") {
    return add(track("100", tid, false), category, name, start_us, duration_us);
  }

  Event& python(const std::string& name, int64_t start_us, int64_t duration_us, uint32_t id = Event::kNoId,
                uint32_t parent = Event::kNoId) {
    Event& event = host(Category::kPython, name, start_us, duration_us);
    event.id = id;
    event.link = parent;
    return event;
  }

  Event& kernel(const std::string& name, int64_t start_us, int64_t duration_us, uint32_t correlation = Event::kNoId,
                const std::string& stream = "7") {
    Event& event = add(track("0", stream, true), Category::kKernel, name, start_us, duration_us);
    event.id = correlation;
    return event;
  }

  Event& launch(int64_t start_us, int64_t duration_us, uint32_t correlation, const std::string& tid = "100") {
    Event& event = host(Category::kRuntime, "cudaLaunchKernel", start_us, duration_us, tid);
    event.id = correlation;
    return event;
  }

  uint32_t op_args(const std::string& dims, const std::string& types, const std::string& concrete = "") {
    OpArgs args;
    args.input_dims = trace.names.intern(dims);
    args.input_types = trace.names.intern(types);
    args.concrete_inputs = trace.names.intern(concrete);
    trace.op_args.push_back(args);
    return static_cast<uint32_t>(trace.op_args.size() - 1);
  }

  uint32_t collective(const std::string& kind, const std::string& dtype, int64_t elements, const std::string& group,
                      const std::string& ranks, int64_t sequence) {
    CollectiveArgs args;
    args.kind = trace.names.intern(kind);
    args.dtype = trace.names.intern(dtype);
    args.in_elements = elements;
    args.out_elements = elements;
    args.group_name = trace.names.intern(group);
    args.group_ranks = trace.names.intern(ranks);
    args.sequence = sequence;
    trace.collectives.push_back(args);
    return static_cast<uint32_t>(trace.collectives.size() - 1);
  }

 private:
  std::map<std::pair<std::string, std::string>, uint32_t> tracks_;
};

}  // namespace eroica
