#include "simulate/sample_document.h"

#include <algorithm>

namespace eroica {

bool glob_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t skip = 0; skip <= text.size(); ++skip) {
      if (glob_matches(pattern.substr(1), text.substr(skip))) return true;
    }
    return false;
  }
  return !text.empty() && pattern[0] == text[0] && glob_matches(pattern.substr(1), text.substr(1));
}

SampleDocument::SampleDocument(const HostClock& clock, std::span<const std::string> dropped)
    : clock_(clock), dropped_(dropped) {
  out_ << "{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": " << clock_.base_unix_ns
       << ", \"traceEvents\": [\n";
}

void SampleDocument::series(std::string_view entity, std::string_view metric, std::string_view unit,
                            const WindowSpan& window, int64_t period_ns,
                            const std::function<double(size_t, int64_t)>& value) {
  if (std::ranges::any_of(dropped_, [&](const std::string& pattern) { return glob_matches(pattern, metric); })) return;
  const auto count = static_cast<size_t>(std::max<int64_t>(2, (window.end_ns - window.start_ns) / period_ns));
  for (size_t k = 0; k < count; ++k) {
    const int64_t t = window.start_ns + static_cast<int64_t>(k + 1) * period_ns;
    out_ << (first_ ? "" : ",\n") << "{\"ph\": \"C\", \"cat\": \"hardware_counters\", \"name\": \"" << metric
         << "\", \"pid\": \"" << entity << "\", \"tid\": 0, \"ts\": ";
    out_.time(clock_.reading_ns(t)) << ", \"args\": {\"" << unit << "\": ";
    out_.number(value(k, t)) << "}}";
    first_ = false;
  }
}

std::string SampleDocument::finish() {
  out_ << "\n]}\n";
  return out_.take();
}

}  // namespace eroica
