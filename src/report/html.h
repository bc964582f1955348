#pragma once

#include <string>

#include "report/document.h"

namespace eroica {

/// The document as one self-contained web page that needs no network.
std::string write_html(const Document& document);

/// `json` such that it can stand inside a <script> element: no `<` in it.
std::string script_safe(const std::string& json);

}  // namespace eroica
