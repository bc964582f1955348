#pragma once

#include <string>

#include "diagnose/rule.h"

namespace eroica {

/// When a piece of evidence holds: "gpu.throttle_thermal above 5 %", "deviation of net.queue at least 4 times the
/// peers' median".
std::string evidence_in_words(const EvidenceRule& evidence);

/// Whom a rule speaks of and how they are found.
std::string subject_in_words(const Rule& rule);

/// All of a rule for `rules explain`: paragraphs, indented lists, lines of at most 100 columns.
std::string rule_in_words(const Rule& rule);

}  // namespace eroica
