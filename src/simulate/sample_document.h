#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/host_clock.h"
#include "simulate/json_text.h"
#include "simulate/random.h"
#include "simulate/window_span.h"

namespace eroica {

/// Does the text match a pattern in which `*` stands for anything?
bool glob_matches(std::string_view pattern, std::string_view text);

/// Counter events of one host, in the form of docs/signals.md.
class SampleDocument {
 public:
  SampleDocument(const HostClock& clock, std::span<const std::string> dropped);

  /// `value(k)` at times start + (k + 1) · period, up to the window's end.
  void series(std::string_view entity, std::string_view metric, std::string_view unit, const WindowSpan& window,
              int64_t period_ns, const std::function<double(size_t, int64_t)>& value);
  [[nodiscard]] std::string finish();

 private:
  HostClock clock_;
  std::span<const std::string> dropped_;
  JsonText out_;
  bool first_ = true;
};

}  // namespace eroica
