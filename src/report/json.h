#pragma once

#include <string>

#include "report/document.h"

namespace eroica {

/// The document as JSON of the form that docs/diagnosis.schema.json describes: keys in a fixed order, numbers
/// rounded to fixed decimals, invalid UTF-8 replaced, a line end at the end. `indent` < 0: all in one line.
std::string write_json(const Document& document, int indent = 2);

}  // namespace eroica
