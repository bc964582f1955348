#pragma once

#include <string_view>

namespace eroica {

/// The page at /, which asks the API for all that it shows: one HTML file, built from ui/ and embedded as bytes.
extern const std::string_view kServicePage;
/// "sha256-…" of its script, as a Content-Security-Policy names it.
extern const std::string_view kServicePageScript;

}  // namespace eroica
