#pragma once

#include <span>

#include "cli/options.h"
#include "cli/pipeline.h"
#include "compare/job.h"
#include "diagnose/diagnosis.h"
#include "diagnose/rule.h"

namespace eroica {

/// Compares the ranks of a window and says what is wrong. `baseline`: an earlier, healthy window, or nullptr; only the
/// full method looks at it.
Conclusion conclude(const Collected& now, const Collected* baseline, std::span<const Rule> rules,
                    Method method = Method::kFull);

/// The same by the full method, of a window after which the job is known to have made more steps: however long a rank
/// waited at its end, it is in no hang.
Conclusion conclude_running(const Collected& now, const Collected* baseline, std::span<const Rule> rules);

/// The same of a job whose patterns were not kept.
Conclusion conclude(const Job& job, const NameTable& names, const Collected* baseline, std::span<const Rule> rules);

}  // namespace eroica
