#pragma once

#include "simulate/timeline.h"

namespace eroica {

/// The part of a timeline that was profiled.
struct WindowSpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

/// Without the first step, which only fills the pipes; begins and ends inside a step where the dialect says so.
WindowSpan profiled_window(const Plant& plant, const Timeline& timeline);

}  // namespace eroica
