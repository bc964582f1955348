#pragma once

#include <string>

#include "compare/timeline_what_if.h"
#include "report/document.h"

namespace eroica {

/// A timeline's workers as patterns, so that the document's sections are made as those of traces: the steps one after
/// another (between them nothing is known), computations and transfers as functions, and as time what one computation
/// after another explains, then transfers that no computation hides, then idle time.
std::vector<RankPattern> timeline_patterns(const OpTimeline& timeline, const std::string& job_id, NameTable& names);

/// The document about an operation timeline. Errors as build_document.
Result<Document> build_timeline_document(const OpTimeline& timeline, const TimelineReport& report,
                                         const std::string& job_id, const DocumentOptions& options,
                                         Conclusion conclusion);

}  // namespace eroica
