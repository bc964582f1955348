// Files of step records come from disks and other hosts, and records from the jobs themselves: whatever the bytes, they
// are read or refused in words, what was read is written and read alike, and a detector takes any record.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "steps/detector.h"
#include "steps/record_log.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const eroica::Result<eroica::ReadRecords> read = eroica::read_record_log(bytes);
  if (!read.ok()) {
    require(!read.error().message.empty());
    return 0;
  }
  require(read->records.size() <= size);

  eroica::RecordLog log(read->job);
  eroica::Detector detector({}, read->job, 0);
  std::vector<eroica::DetectorEvent> events;
  int64_t now_ns = 0;
  for (const eroica::StepRecord& record : read->records) {
    log.append(record);
    now_ns += 100'000'000;
    detector.observe(record, now_ns, events);
    detector.tick(now_ns, events);
  }
  require(detector.skew().size() == detector.ranks().size());
  const eroica::Result<eroica::ReadRecords> again = eroica::read_record_log(log.bytes());
  require(read->records.empty() ? !again.ok() : again.ok() && again->records == read->records);
  return 0;
}
