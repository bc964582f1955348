#pragma once

#include <string_view>

#include "trace/trace.h"

namespace eroica {

/// The category that a "cat" of any schema or accelerator names.
[[nodiscard]] Category category_of(std::string_view cat);

/// Whether events of the category ran on an accelerator: their tid is a stream.
[[nodiscard]] bool on_device(Category category);

}  // namespace eroica
