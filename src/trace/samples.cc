#include "trace/samples.h"

#include <algorithm>
#include <compare>
#include <map>
#include <tuple>
#include <utility>

#include "base/saturate.h"
#include "trace/kineto_reader.h"

namespace eroica {
namespace {

auto identity(const SampleSeries& series) { return std::tie(series.entity, series.metric, series.unit); }

// Total, also over NaN, so that sorting is safe and its outcome unique.
bool earlier(const Sample& a, const Sample& b) {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  return std::is_lt(std::strong_order(a.value, b.value));
}

/// Joins neighbours of the same identity; `series` is ordered.
std::vector<SampleSeries> join_equal(std::vector<SampleSeries> series) {
  std::vector<SampleSeries> joined;
  for (SampleSeries& one : series) {
    if (!joined.empty() && identity(joined.back()) == identity(one)) {
      std::vector<Sample>& samples = joined.back().samples;
      samples.insert(samples.end(), one.samples.begin(), one.samples.end());
    } else {
      joined.push_back(std::move(one));
    }
  }
  return joined;
}

}  // namespace

Result<SampleFile> read_samples(std::unique_ptr<ByteSource> input) {
  Result<Trace> trace = read_kineto(std::move(input));
  if (!trace.ok()) return trace.error();
  return SampleFile{.samples = std::move(trace->samples), .defects = trace->defects, .text_bytes = trace->text_bytes};
}

void merge_samples(SampleSet& into, const SampleSet& more) {
  if (into.series.empty()) into.base_unix_ns = more.base_unix_ns;
  const int64_t shift_ns = saturating_subtract(more.base_unix_ns, into.base_unix_ns);

  into.series.reserve(into.series.size() + more.series.size());
  for (const SampleSeries& series : more.series) {
    SampleSeries& added = into.series.emplace_back(series);
    for (Sample& sample : added.samples) {
      sample.time_ns = saturating_add(sample.time_ns, shift_ns);
    }
  }
  std::stable_sort(into.series.begin(), into.series.end(),
                   [](const SampleSeries& a, const SampleSeries& b) { return identity(a) < identity(b); });
  into.series = join_equal(std::move(into.series));
  for (SampleSeries& series : into.series) {
    if (!std::is_sorted(series.samples.begin(), series.samples.end(), earlier)) {
      std::sort(series.samples.begin(), series.samples.end(), earlier);
    }
  }
}

SampleMeaning sample_meaning(std::string_view unit) {
  if (unit == "bits_per_s") return SampleMeaning::kLevel;
  const bool rate = unit == "fraction" || unit == "cores" || unit == "per_s" || unit.ends_with("_per_s");
  return rate ? SampleMeaning::kRate : SampleMeaning::kLevel;
}

}  // namespace eroica
