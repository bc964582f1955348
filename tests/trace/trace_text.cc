#include "trace_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace eroica::testkit {
namespace {

std::string collective_text(const Trace& trace, uint32_t index) {
  if (index == 0) return "";
  const CollectiveArgs& args = trace.collectives[index];
  return fmt::format(" collective[{} {} {}/{} ranks {} in {} out {} size {} src {} dst {} seq {}]",
                     trace.names.text(args.kind), trace.names.text(args.dtype), trace.names.text(args.group_name),
                     trace.names.text(args.group_desc), trace.names.text(args.group_ranks), args.in_elements,
                     args.out_elements, args.group_size, args.src_rank, args.dst_rank, args.sequence);
}

std::string detail_text(const Trace& trace, const Event& event) {
  if (event.detail == 0) return "";
  switch (event.category) {
    case Category::kOperator:
    case Category::kAnnotation: {
      const OpArgs& args = trace.op_args[event.detail];
      return fmt::format(" dims {} types {} inputs {} stack {}{}", trace.names.text(args.input_dims),
                         trace.names.text(args.input_types), trace.names.text(args.concrete_inputs),
                         trace.names.text(args.call_stack), collective_text(trace, args.collective));
    }
    case Category::kKernel: {
      const Launch& launch = trace.launches[event.detail];
      return fmt::format(" grid {} block {} graph {}.{}{}", trace.names.text(launch.grid),
                         trace.names.text(launch.block), launch.graph, launch.graph_node,
                         collective_text(trace, launch.collective));
    }
    default:
      return fmt::format(" bytes {}", trace.bytes[event.detail]);
  }
}

std::string id_text(uint32_t id) { return id == Event::kNoId ? "-" : std::to_string(id); }

}  // namespace

std::string events_text(const Trace& trace) {
  std::string out;
  for (const Track& track : trace.tracks) {
    for (const Event& event : track.events) {
      out += fmt::format("{} {}+{}\n", trace.names.text(event.name), event.start_ns, event.duration_ns);
    }
  }
  return out;
}

std::string trace_text(const Trace& trace) {
  std::string out =
      fmt::format("base {} events {} bytes {}\n", trace.base_unix_ns, trace.timed_events, trace.text_bytes);
  const TraceMetadata& about = trace.metadata;
  out += fmt::format("rank {}/{} {} host {} devices {} name {}\n", about.rank, about.world_size, about.backend,
                     about.host_name, about.devices, about.trace_name);
  for (const ProcessGroup& group : about.groups) {
    out += fmt::format("group {} {} {} {}\n", group.name, group.desc, group.size, group.ranks);
  }
  for (size_t i = 0; i < kDefectCount; ++i) {
    if (trace.defects.count[i] != 0) {
      out += fmt::format("defect {} {}\n", defect_name(static_cast<Defect>(i)), trace.defects.count[i]);
    }
  }
  for (size_t i = 0; i < kCategoryCount; ++i) {
    if (trace.category_count[i] != 0) {
      out += fmt::format("category {} {} {} ns\n", category_name(static_cast<Category>(i)), trace.category_count[i],
                         trace.category_ns[i]);
    }
  }
  for (const Track& track : trace.tracks) {
    out += fmt::format("track {}|{} {} stream {} {}|{}\n", track.pid, track.tid, track.device ? "device" : "host",
                       track.stream, track.process_name, track.thread_name);
    for (const Event& event : track.events) {
      out += fmt::format("  {} {}+{} {} id {} link {} flags {}{}\n", category_name(event.category), event.start_ns,
                         event.duration_ns, trace.names.text(event.name), id_text(event.id), id_text(event.link),
                         event.flags, detail_text(trace, event));
    }
  }
  for (const SampleSeries& series : trace.samples.series) {
    out += fmt::format("series {}|{}|{}\n", series.entity, series.metric, series.unit);
    for (const Sample& sample : series.samples) out += fmt::format("  {} {}\n", sample.time_ns, sample.value);
  }
  return out;
}

}  // namespace eroica::testkit
