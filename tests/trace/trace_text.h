#pragma once

#include <string>

#include "trace/trace.h"

namespace eroica::testkit {

/// Everything that a Trace says, as text: names instead of ids, so that traces that mean the same look the same.
std::string trace_text(const Trace& trace);

/// The events of one category: "name start+duration" each, in order, one a line.
std::string events_text(const Trace& trace);

}  // namespace eroica::testkit
