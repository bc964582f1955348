#pragma once

#include <span>

#include "diagnose/diagnosis.h"
#include "diagnose/facts.h"
#include "diagnose/rule.h"

namespace eroica {

/// What is to be said of a job that is blocked at its window's end (`facts.now().blocked` is set): who waits for whom
/// in what, where the missing ranks stand, and the likeliest of the rules about hangs as the only claim.
void diagnose_blocked(Facts& facts, std::span<const Rule> rules, Conclusion& conclusion);

}  // namespace eroica
