#pragma once

#include <string>

#include "report/document.h"
#include "report/text_style.h"

namespace eroica {

struct TextOptions {
  TextStyle style;
  size_t width = 100;
  /// Functions below this share of a step are only counted; they rarely matter and cost the screen.
  double least_share = 0.005;
};

/// The document for a terminal. Without detail asked for, about one screen: first what is wrong, in a few lines for
/// each claim, or that nothing is; then where a step's time goes, the functions that explain it, the collectives, and
/// what was missing or damaged. Where ranks were asked for, their steps one by one; where a function was, all that is
/// known of it instead.
std::string write_text(const Document& document, const TextOptions& options);

}  // namespace eroica
