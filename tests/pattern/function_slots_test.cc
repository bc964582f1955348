#include "pattern/function_slots.h"

#include <array>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eroica {
namespace {

RC_GTEST_PROP(FunctionSlots, DurationsAreThoseOfAPlainSketch, ()) {
  StringTable names;
  FunctionSlots slots(names);
  std::array<QuantileSketch, 2> expected;
  std::array<uint32_t, 2> slot{};
  slot[0] = slots.plain(FunctionKind::kCompute, names.intern("mm"));
  slot[1] = slots.plain(FunctionKind::kCompute, names.intern("add"));
  const auto narrow = rc::gen::inRange<int64_t>(1000, 4000);  // many a bucket
  const auto wide = rc::gen::inRange<int64_t>(0, INT64_MAX);
  const auto runs = *rc::gen::container<std::vector<std::pair<bool, int64_t>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::oneOf(narrow, wide)));
  for (const auto& [which, duration_ns] : runs) {
    slots.add_execution(slot[which ? 1 : 0], duration_ns);
    expected[which ? 1 : 0].add(duration_ns);
  }
  for (size_t i = 0; i < slot.size(); ++i) {
    RC_ASSERT(slots[slot[i]].durations == expected[i]);
    RC_ASSERT(slots[slot[i]].executions == expected[i].count());
  }
}

}  // namespace
}  // namespace eroica
