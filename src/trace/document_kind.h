#pragma once

#include <optional>
#include <string_view>

namespace eroica {

/// What a JSON document is to us.
enum class DocumentKind {
  kTrace,    ///< an object with traceEvents, or an array of trace events
  kSamples,  ///< the same, but nothing in it except sample counters
  kOther,    ///< JSON of another kind
  kCut,      ///< JSON that ends too early to tell
  kNotJson,
  kEmpty,  ///< nothing, or white space only
};

/// Tells from the beginning of a document what it is, leniently: damage never hides a trace that shows its
/// traceEvents. nullopt: `head` is not all of it (`whole` is false) and does not decide yet. Linear in `head`.
std::optional<DocumentKind> document_kind(std::string_view head, bool whole);

}  // namespace eroica
