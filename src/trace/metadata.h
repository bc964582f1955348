#pragma once

#include <string>
#include <string_view>

#include "trace/trace.h"

namespace eroica {

/// Whether a top-level key of the document says something that a Trace keeps.
bool is_known_metadata(std::string_view key);

/// Files the JSON text of a top-level value. False when it is not what the key asks for: what could be used was
/// used all the same.
bool read_metadata(std::string_view key, const std::string& json, Trace& trace);

}  // namespace eroica
