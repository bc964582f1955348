#include "trace/trace.h"

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <compare>
#include <tuple>
#include <vector>

#include "base/hash.h"

namespace eroica {
namespace {

/// A number for what `detail` stands for, by content and not by index.
uint64_t collective_hash(const Trace& trace, uint32_t index) {
  const CollectiveArgs& args = trace.collectives[index];
  uint64_t hash = trace.names.text_hash(args.kind);
  for (const uint32_t text : {args.dtype, args.group_name, args.group_desc, args.group_ranks}) {
    hash = hash_combine(hash, trace.names.text_hash(text));
  }
  for (const int64_t number : {args.in_elements, args.out_elements, int64_t{args.group_size}, int64_t{args.src_rank},
                               int64_t{args.dst_rank}, args.sequence}) {
    hash = hash_combine(hash, static_cast<uint64_t>(number));
  }
  return hash;
}

uint64_t detail_hash(const Trace& trace, const Event& event) {
  if (event.detail == 0) return 0;
  switch (event.category) {
    case Category::kOperator:
    case Category::kAnnotation: {
      const OpArgs& args = trace.op_args[event.detail];
      uint64_t hash = collective_hash(trace, args.collective);
      for (const uint32_t text : {args.input_dims, args.input_types, args.concrete_inputs, args.call_stack}) {
        hash = hash_combine(hash, trace.names.text_hash(text));
      }
      return hash;
    }
    case Category::kKernel: {
      const Launch& launch = trace.launches[event.detail];
      uint64_t hash = collective_hash(trace, launch.collective);
      hash = hash_combine(hash, trace.names.text_hash(launch.grid));
      hash = hash_combine(hash, trace.names.text_hash(launch.block));
      hash = hash_combine(hash, static_cast<uint64_t>(launch.graph));
      return hash_combine(hash, static_cast<uint64_t>(launch.graph_node));
    }
    case Category::kMemcpy:
    case Category::kMemset:
      return trace.bytes[event.detail];
    default:
      return event.detail;
  }
}

/// Which of two calls of the same extent is the outer one: Python calls operators, operators call the runtime.
int nesting(Category category) {
  switch (category) {
    case Category::kPython:
      return 0;
    case Category::kAnnotation:
      return 1;
    case Category::kOperator:
      return 2;
    default:
      return 3 + static_cast<int>(category);
  }
}

struct EventOrder {
  const Trace& trace;

  bool operator()(const Event& a, const Event& b) const {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.duration_ns != b.duration_ns) return a.duration_ns > b.duration_ns;
    return rest(a, b);
  }

 private:
  [[nodiscard]] bool rest(const Event& a, const Event& b) const {
    if (a.category != b.category) return nesting(a.category) < nesting(b.category);
    // Calls of one kind get their ids from the outside in.
    const auto numbers = [](const Event& event) { return std::tie(event.id, event.link, event.flags); };
    if (numbers(a) != numbers(b)) return numbers(a) < numbers(b);
    if (a.name != b.name) return trace.names.text_hash(a.name) < trace.names.text_hash(b.name);
    return a.detail != b.detail && detail_hash(trace, a) < detail_hash(trace, b);
  }
};

/// Numbers by their value, before and apart from words.
auto id_order(const std::string& id) {
  const bool number = !id.empty() && id.size() < 19 && id.find_first_not_of("0123456789") == std::string::npos;
  return std::tuple(!number, number ? id.size() : 0, id);
}

bool earlier(const Sample& a, const Sample& b) {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  return std::strong_order(a.value, b.value) < 0;
}

/// Traces are written as a few sorted runs (operators, then runtime calls …): merging those is cheaper than sorting.
template <typename Range, typename Order>
void sort_by_runs(Range& range, const Order& order) {
  constexpr size_t kMostRuns = 64;
  std::vector<decltype(range.begin())> ends;  // of the sorted runs
  for (auto begin = range.begin(); begin != range.end(); begin = ends.back()) {
    if (ends.size() == kMostRuns) {
      boost::sort::pdqsort(range.begin(), range.end(), order);
      return;
    }
    ends.push_back(std::is_sorted_until(begin, range.end(), order));
  }
  while (ends.size() > 1) {
    std::vector<decltype(range.begin())> merged;
    auto begin = range.begin();
    for (size_t i = 0; i < ends.size(); i += 2) {
      if (i + 1 < ends.size()) std::inplace_merge(begin, ends[i], ends[i + 1], order);
      begin = ends[std::min(i + 1, ends.size() - 1)];
      merged.push_back(begin);
    }
    ends = std::move(merged);
  }
}

}  // namespace

std::string_view category_name(Category category) {
  switch (category) {
    case Category::kOperator:
      return "operator";
    case Category::kPython:
      return "python";
    case Category::kAnnotation:
      return "annotation";
    case Category::kGpuAnnotation:
      return "gpu_annotation";
    case Category::kRuntime:
      return "runtime";
    case Category::kDriver:
      return "driver";
    case Category::kKernel:
      return "kernel";
    case Category::kMemcpy:
      return "memcpy";
    case Category::kMemset:
      return "memset";
    case Category::kSync:
      return "sync";
    case Category::kOverhead:
      return "overhead";
    case Category::kTraceSpan:
      return "trace_span";
    case Category::kOther:
      return "other";
  }
  return "other";
}

std::string_view defect_name(Defect defect) {
  switch (defect) {
    case Defect::kTruncated:
      return "truncated";
    case Defect::kBadEvent:
      return "bad_event";
    case Defect::kRepairedEvent:
      return "repaired_event";
    case Defect::kBadField:
      return "bad_field";
    case Defect::kMissingField:
      return "missing_field";
    case Defect::kNegativeDuration:
      return "negative_duration";
    case Defect::kHugeValue:
      return "huge_value";
    case Defect::kUnmatchedBegin:
      return "unmatched_begin";
    case Defect::kUnmatchedEnd:
      return "unmatched_end";
    case Defect::kDuplicateKey:
      return "duplicate_key";
    case Defect::kInvalidUtf8:
      return "invalid_utf8";
    case Defect::kLongString:
      return "long_string";
    case Defect::kStringOverflow:
      return "string_overflow";
    case Defect::kTrackOverflow:
      return "track_overflow";
    case Defect::kIdOutOfRange:
      return "id_out_of_range";
    case Defect::kTrailingData:
      return "trailing_data";
    case Defect::kBadCompression:
      return "bad_compression";
  }
  return "unknown";
}

bool Defects::any() const {
  return std::any_of(count.begin(), count.end(), [](uint64_t n) { return n != 0; });
}

void Defects::merge(const Defects& other) {
  for (size_t i = 0; i < kDefectCount; ++i) count[i] += other.count[i];
}

void Trace::sort() {
  for (Track& track : tracks) sort_by_runs(track.events, EventOrder{*this});
  const auto key = [](const Track& track) {
    return std::tuple(track.device, id_order(track.pid), id_order(track.tid));
  };
  std::sort(tracks.begin(), tracks.end(), [&](const Track& a, const Track& b) { return key(a) < key(b); });
  for (SampleSeries& series : samples.series) sort_by_runs(series.samples, earlier);
  std::sort(samples.series.begin(), samples.series.end(), [](const SampleSeries& a, const SampleSeries& b) {
    return std::tie(a.entity, a.metric, a.unit) < std::tie(b.entity, b.metric, b.unit);
  });
}

}  // namespace eroica
