#include "cli/conclude.h"

#include "compare/collective_join.h"
#include "compare/comparison.h"
#include "compare/job.h"
#include "diagnose/diagnose.h"
#include "diagnose/other_methods.h"

namespace eroica {
namespace {

Job job_of(const Collected& collected) {
  JobBuilder builder;
  for (const RankPattern& pattern : collected.patterns) builder.add(pattern);
  for (const RankPattern& pattern : collected.unobserved) builder.add(pattern);
  return builder.finish(collected.names);
}

Conclusion conclude(const Comparison& comparison, const Collected* baseline, std::span<const Rule> rules) {
  if (baseline == nullptr) return diagnose(comparison, nullptr, rules);
  const Job before = job_of(*baseline);
  const Comparison past(before, baseline->names);
  return diagnose(comparison, &past, rules);
}

}  // namespace

Conclusion conclude(const Collected& now, const Collected* baseline, std::span<const Rule> rules, Method method) {
  switch (method) {
    case Method::kEroica:
      return conclude_by_eroica(now.patterns, now.names, rules);
    case Method::kLargestTotal:
      return conclude_by_largest_total(now.patterns, now.names, rules);
    case Method::kLongestCollective:
      return conclude_by_longest_collective(now.patterns, now.names, rules);
    case Method::kFull:
      break;
  }
  const Job job = job_of(now);
  return conclude(Comparison(job, now.names, join_collectives(now.patterns)), baseline, rules);
}

Conclusion conclude_running(const Collected& now, const Collected* baseline, std::span<const Rule> rules) {
  const Job job = job_of(now);
  Comparison comparison(job, now.names, join_collectives(now.patterns));
  comparison.blocked.reset();
  return conclude(comparison, baseline, rules);
}

Conclusion conclude(const Job& job, const NameTable& names, const Collected* baseline, std::span<const Rule> rules) {
  return conclude(Comparison(job, names), baseline, rules);
}

}  // namespace eroica
