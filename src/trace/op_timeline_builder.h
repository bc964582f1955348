#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/op_timeline.h"

namespace eroica {

/// One row as a reader found it.
struct TimelineRow {
  int32_t dp = 0;
  int32_t stage = 0;
  int32_t rank = -1;
  int32_t step = -1;
  std::string_view name;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int32_t sequence = -1;
  int32_t chunk = -1;
  int32_t micro_batch = -1;
};

/// Collects rows into an OpTimeline. Keeps to the limits whatever comes.
class OpTimelineBuilder {
 public:
  explicit OpTimelineBuilder(const OpTimelineLimits& limits) : limits_(limits) {}
  /// `line`: where the row stands, for the first bad one.
  void add(const TimelineRow& row, uint64_t line);
  void add_bad(uint64_t line, std::string_view why);
  [[nodiscard]] OpTimeline& timeline() { return timeline_; }
  /// Orders the workers. The builder is used up.
  OpTimeline finish();

 private:
  std::optional<uint32_t> worker_of(const TimelineRow& row);

  OpTimelineLimits limits_;
  OpTimeline timeline_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> workers_;  // by dp and stage; looked up only
  uint32_t last_worker_ = 0;
};

/// Seconds times `scale_ns` as nanoseconds; nullopt beyond ± 290 years and for what is no number.
std::optional<int64_t> to_ns(double value, double scale_ns);

Result<OpTimeline> read_op_timeline_csv(ByteSource& input, std::string_view head, const std::string& name,
                                        const OpTimelineLimits& limits);
Result<OpTimeline> read_op_timeline_json(ByteSource& input, std::string_view head, const std::string& name,
                                         const OpTimelineLimits& limits);
/// Does this first line name the columns of a timeline?
bool is_op_timeline_header(std::string_view line);

}  // namespace eroica
