#pragma once

#include <span>

#include "cli/pipeline.h"
#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"

namespace eroica {

/// Compares the ranks of a window and says what is wrong. `baseline`: an earlier, healthy window, or nullptr.
Conclusion conclude(const Collected& now, const Collected* baseline, std::span<const Rule> rules);

}  // namespace eroica
