// What must hold for every document: how it is cut into blocks and reads never shows, and neither does the order of
// its events.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "random_document.h"
#include "trace/kineto_reader.h"
#include "trace_text.h"

namespace eroica {
namespace {

using testkit::RandomDocument;
using testkit::trace_text;

std::string read_as_text(const std::string& document, size_t block_bytes, size_t max_read) {
  const Result<Trace> trace =
      read_kineto(memory_source(document, max_read), {.block_bytes = block_bytes, .progress = {}});
  return trace.ok() ? trace_text(*trace) : "error: " + trace.error().message;
}

void check_any_cut(const std::string& document, RandomDocument& random) {
  const std::string whole = read_as_text(document, size_t{4} << 20, SIZE_MAX);
  for (const size_t block : {size_t{1}, size_t{100}, size_t{300}, size_t{1000}, 1 + random.below(5000)}) {
    RC_ASSERT(read_as_text(document, block, 1 + random.below(2000)) == whole);
  }
  RC_ASSERT(read_as_text(document, 400, 1) == whole);
}

RC_GTEST_PROP(AnyCut, GivesTheSameTraceForValidDocuments, (uint32_t seed)) {
  RandomDocument random(seed);
  check_any_cut(random.document(random.events(random.below(60))), random);
}

RC_GTEST_PROP(AnyCut, GivesTheSameTraceForDamagedDocuments, (uint32_t seed)) {
  RandomDocument random(seed);
  check_any_cut(random.damage(random.document(random.events(random.below(60)))), random);
}

RC_GTEST_PROP(AnyOrder, OfTheEventsGivesTheSameTrace, (uint32_t seed)) {
  RandomDocument random(seed);
  std::vector<std::string> events = random.unordered_events(1 + random.below(80));
  const auto document = [&] {
    std::string text = "{\"traceEvents\": [";
    for (size_t i = 0; i < events.size(); ++i) text += (i > 0 ? ", " : "") + events[i];
    return text + "]}";
  };
  const std::string first = read_as_text(document(), 256 << 10, SIZE_MAX);
  std::reverse(events.begin(), events.end());
  RC_ASSERT(read_as_text(document(), 256 << 10, SIZE_MAX) == first);
  std::shuffle(events.begin(), events.end(), std::mt19937(seed));
  RC_ASSERT(read_as_text(document(), 256 << 10, SIZE_MAX) == first);
}

RC_GTEST_PROP(AnyDocument, ThatIsValidCountsNoDamage, (uint32_t seed)) {
  RandomDocument random(seed);
  const Result<Trace> trace = read_kineto(memory_source(random.document(random.unordered_events(random.below(60)))));
  RC_PRE(trace.ok());  // an array without a single event is no trace
  RC_ASSERT(trace->defects.of(Defect::kRepairedEvent) == 0U);
  RC_ASSERT(trace->defects.of(Defect::kTruncated) == 0U);
  RC_ASSERT(trace->defects.of(Defect::kTrailingData) == 0U);
  RC_ASSERT(trace->defects.of(Defect::kDuplicateKey) == 0U);
  RC_ASSERT(trace->defects.of(Defect::kInvalidUtf8) == 0U);
}

}  // namespace
}  // namespace eroica
