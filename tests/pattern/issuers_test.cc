#include "pattern/issuers.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eroica {
namespace {

RC_GTEST_PROP(IssuerLookup, FindsTheFirstLaunchOfACorrelation, ()) {
  const uint32_t range = *rc::gen::element<uint32_t>(4, 60, 1000);
  auto correlations = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, range));
  if (*rc::gen::arbitrary<bool>()) {  // as two threads record them
    const auto middle = correlations.begin() + static_cast<std::ptrdiff_t>(correlations.size() / 2);
    std::sort(correlations.begin(), middle);
    std::sort(middle, correlations.end());
  }
  const Trace trace;
  FunctionSlots slots(trace.names);
  ElementCounts elements(trace.names);
  HostWalk walk(trace, slots, elements, {0, 0}, true);
  for (uint32_t i = 0; i < correlations.size(); ++i) {
    walk.launches.push_back({correlations[i], i, Event::kNoId, 0, 0});
  }
  IssuerLookup lookup(walk);

  auto wanted = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, range));
  wanted.push_back(Event::kNoId);
  for (const uint32_t correlation : wanted) {
    const auto first = std::find(correlations.begin(), correlations.end(), correlation);
    const Launched* found = lookup.launch_of(correlation);
    RC_ASSERT((found != nullptr) == (first != correlations.end()));
    if (found != nullptr) {
      RC_ASSERT(found->correlation == correlation);
      RC_ASSERT(found->issuer == static_cast<uint32_t>(first - correlations.begin()));
    }
  }
}

}  // namespace
}  // namespace eroica
