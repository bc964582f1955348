#pragma once

#include <string_view>

#include "trace/raw_event.h"

namespace eroica {

/// Reads what can be read of an event whose text is not JSON: a value is what stands between its key and the next
/// thing that looks like a key, so stray quotes and brackets stay inside the value. Never fails; `event` may
/// remain empty.
void read_event_leniently(std::string_view text, RawEvent& event);

}  // namespace eroica
