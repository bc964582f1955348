#pragma once

#include <span>

#include "compare/comparison.h"
#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"

namespace eroica {

/// Tries every rule on a compared job, decides between those that explain the same time, and says what follows.
/// `baseline`: an earlier, healthy window of the same job, or nullptr. Deterministic; pure.
Conclusion diagnose(const Comparison& now, const Comparison* baseline, std::span<const Rule> rules);

}  // namespace eroica
