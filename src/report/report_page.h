#pragma once

#include <string_view>

namespace eroica {

/// The HTML report's page, complete but for the document: it contains `__EROICA_DOCUMENT__` exactly once, inside a
/// <script type="application/json"> element. Whoever fills it in puts the document's JSON there with every `<`
/// written as \u003c, so that nothing in the document can end the element. Built from ui/ and embedded as bytes.
extern const std::string_view kReportPage;

inline constexpr std::string_view kReportPagePlaceholder = "__EROICA_DOCUMENT__";

}  // namespace eroica
