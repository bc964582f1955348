#include "cli/conclude.h"

#include <memory>

#include "compare/comparison.h"
#include "compare/job.h"
#include "diagnose/diagnose.h"

namespace eroica {

Conclusion conclude(const Collected& now, const Collected* baseline, std::span<const Rule> rules) {
  const Job job = build_job(now.patterns, now.names);
  const Comparison comparison(job, now.names);
  if (baseline == nullptr) return diagnose(comparison, nullptr, rules);
  const Job before = build_job(baseline->patterns, baseline->names);
  const Comparison past(before, baseline->names);
  return diagnose(comparison, &past, rules);
}

}  // namespace eroica
