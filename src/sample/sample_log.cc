#include "sample/sample_log.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/saturate.h"

namespace eroica {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
}

}  // namespace

void SampleLog::at(int64_t unix_ns) {
  now_ns_ = unix_ns;
  if (samples_.base_unix_ns == 0) samples_.base_unix_ns = unix_ns / 1'000'000'000 * 1'000'000'000;
}

SampleLog::Series& SampleLog::series(std::string_view entity, std::string_view metric, std::string_view unit) {
  name_.assign(entity).append(1, '\n').append(metric);
  const auto [found, is_new] = by_name_.try_emplace(name_);
  if (is_new) {
    found->second.index = samples_.series.size();
    samples_.series.push_back({std::string(entity), std::string(metric), std::string(unit), {}});
  }
  return found->second;
}

void SampleLog::append(const Series& series, double value) {
  if (!std::isfinite(value)) return;
  if (count_ >= most_) {
    ++lost_;
    return;
  }
  ++count_;
  samples_.series[series.index].samples.push_back({saturating_subtract(now_ns_, samples_.base_unix_ns), value});
}

void SampleLog::level(std::string_view entity, std::string_view metric, std::string_view unit, double value) {
  append(series(entity, metric, unit), value);
}

void SampleLog::growth(std::string_view entity, std::string_view metric, std::string_view unit, uint64_t counter,
                       double scale) {
  Series& one = series(entity, metric, unit);
  const double seconds = static_cast<double>(now_ns_ - one.at_ns) * 1e-9;
  if (!one.read) {
    append(one, 0);
  } else if (counter >= one.counter && seconds > 0) {
    append(one, static_cast<double>(counter - one.counter) * scale / seconds);
  }
  one.counter = counter;
  one.at_ns = now_ns_;
  one.read = true;
}

std::string samples_json(const SampleSet& samples) {
  std::string out = fmt::format(
      "{{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": {}, \"traceEvents\": [\n",
      samples.base_unix_ns);
  bool first = true;
  for (const SampleSeries& series : samples.series) {
    std::string front = R"({"ph": "C", "cat": "hardware_counters", "name": ")";
    append_escaped(front, series.metric);
    front += R"(", "pid": ")";
    append_escaped(front, series.entity);
    front += R"(", "tid": 0, "ts": )";
    std::string unit;
    append_escaped(unit, series.unit);
    for (const Sample& sample : series.samples) {
      if (!first) out += ",\n";
      first = false;
      const int64_t ns = sample.time_ns < 0 ? 0 : sample.time_ns;
      fmt::format_to(std::back_inserter(out), "{}{}.{:03}, \"args\": {{\"{}\": {:.12g}}}}}", front, ns / 1000,
                     ns % 1000, unit, sample.value);
    }
  }
  return out + "\n]}\n";
}

}  // namespace eroica
