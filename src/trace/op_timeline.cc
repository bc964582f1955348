#include "trace/op_timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "trace/op_timeline_builder.h"

namespace eroica {
namespace {

constexpr size_t kHeadBytes = size_t{64} << 10;

std::string_view without_mark(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  return head;
}

bool looks_like_json(std::string_view head) {
  head = without_mark(head);
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '[' || head[first] == '{');
}

/// Fills up to kHeadBytes, so that short reads do not change what is recognised.
Result<std::string> read_head(ByteSource& input) {
  std::string head(kHeadBytes, '\0');
  size_t size = 0;
  while (size < head.size()) {
    const Result<size_t> got = input.read({head.data() + size, head.size() - size});
    if (!got.ok()) return got.error();
    if (*got == 0) break;
    size += *got;
  }
  head.resize(size);
  return head;
}

uint64_t place_key(int32_t dp, int32_t stage) {
  return uint64_t{static_cast<uint32_t>(dp)} << 32 | static_cast<uint32_t>(stage);
}

}  // namespace

OpType op_type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, OpType>, 12> kTypes = {{
      {"forward-compute", OpType::kForwardCompute},
      {"backward-compute", OpType::kBackwardCompute},
      {"forward-send", OpType::kForwardSend},
      {"forward-recv", OpType::kForwardRecv},
      {"backward-send", OpType::kBackwardSend},
      {"backward-recv", OpType::kBackwardRecv},
      {"params-all-gather", OpType::kParamsSync},
      {"params-sync", OpType::kParamsSync},
      {"params-allgather", OpType::kParamsSync},
      {"grads-reduce-scatter", OpType::kGradsSync},
      {"grads-all-reduce", OpType::kGradsSync},
      {"grads-sync", OpType::kGradsSync},
  }};
  const auto same = [](char a, char b) {
    if (a >= 'A' && a <= 'Z') a = static_cast<char>(a - 'A' + 'a');
    return (a == '_' ? '-' : a) == b;
  };
  for (const auto& [text, type] : kTypes) {
    if (std::ranges::equal(name, text, same)) return type;
  }
  return OpType::kOther;
}

std::optional<int64_t> to_ns(double value, double scale_ns) {
  const double ns = value * scale_ns;
  if (!(std::abs(ns) < 9.1e18)) return std::nullopt;
  return static_cast<int64_t>(std::llround(ns));
}

void OpTimelineBuilder::add_bad(uint64_t line, std::string_view why) {
  timeline_.defects.add(Defect::kBadEvent);
  if (timeline_.first_bad_line != 0) return;
  timeline_.first_bad_line = line;
  timeline_.first_bad = why;
}

std::optional<uint32_t> OpTimelineBuilder::worker_of(const TimelineRow& row) {
  const auto is = [&row](const TimelineWorker& worker) {
    return worker.dp == row.dp && worker.stage == row.stage && worker.rank == row.rank;
  };
  std::vector<TimelineWorker>& all = timeline_.workers;
  if (!all.empty() && is(all[last_worker_])) return last_worker_;
  std::vector<uint32_t>& here = workers_[place_key(row.dp, row.stage)];
  for (const uint32_t index : here) {
    if (is(all[index])) return last_worker_ = index;
  }
  if (all.size() >= limits_.workers || here.size() >= 256) return std::nullopt;
  last_worker_ = static_cast<uint32_t>(all.size());
  here.push_back(last_worker_);
  all.push_back({.dp = row.dp, .stage = row.stage, .rank = row.rank});
  return last_worker_;
}

void OpTimelineBuilder::add(const TimelineRow& row, uint64_t line) {
  if (row.dp < 0 || row.stage < 0) return add_bad(line, "dp_rank or stage is negative");
  if (row.name.empty()) return add_bad(line, "no optype");
  const std::optional<uint32_t> worker = timeline_.size() < limits_.operations ? worker_of(row) : std::nullopt;
  if (!worker) return timeline_.defects.add(Defect::kTrackOverflow);
  int64_t duration_ns = row.duration_ns;
  if (duration_ns < 0) {
    timeline_.defects.add(Defect::kNegativeDuration);
    duration_ns = 0;
  }
  timeline_.worker.push_back(*worker);
  timeline_.step.push_back(row.step);
  timeline_.type.push_back(op_type_of(row.name));
  timeline_.name.push_back(timeline_.names.intern(row.name.substr(0, 256)));
  timeline_.start_ns.push_back(row.start_ns);
  timeline_.duration_ns.push_back(duration_ns);
  timeline_.sequence.push_back(row.sequence);
  timeline_.chunk.push_back(row.chunk);
  timeline_.micro_batch.push_back(row.micro_batch);
}

OpTimeline OpTimelineBuilder::finish() {
  std::vector<TimelineWorker>& workers = timeline_.workers;
  std::vector<uint32_t> order(workers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {},
                    [&workers](uint32_t i) { return std::tuple(workers[i].dp, workers[i].stage, workers[i].rank); });
  std::vector<TimelineWorker> sorted;
  std::vector<uint32_t> place(workers.size());
  for (const uint32_t old : order) {
    place[old] = static_cast<uint32_t>(sorted.size());
    TimelineWorker next = workers[old];
    const bool same = !sorted.empty() && sorted.back().dp == next.dp && sorted.back().stage == next.stage;
    next.lane = same ? sorted.back().lane + 1 : 0;
    sorted.push_back(next);
  }
  workers = std::move(sorted);
  for (uint32_t& worker : timeline_.worker) worker = place[worker];
  if (timeline_.names.overflows() > 0) {
    timeline_.defects.add(Defect::kStringOverflow, timeline_.names.overflows());
  }
  return std::move(timeline_);
}

bool is_op_timeline(std::string_view head) {
  if (!looks_like_json(head)) {
    head = without_mark(head);
    return is_op_timeline_header(head.substr(0, head.find('\n')));
  }
  const auto has = [head](std::string_view text) { return head.find(text) != std::string_view::npos; };
  return (has("\"model_chunk\"") || has("\"mb_id\"")) && has("\"seq_id\"") &&
         (has("\"forward-") || has("\"backward-") || has("\"params-") || has("\"grads-"));
}

Result<OpTimeline> read_op_timeline(std::unique_ptr<ByteSource> input, const std::string& name,
                                    const OpTimelineLimits& limits) {
  const std::unique_ptr<DecompressedSource> source = decompress(std::move(input));
  const Result<std::string> head = read_head(*source);
  if (!head.ok()) return head.error();
  Result<OpTimeline> timeline = looks_like_json(*head) ? read_op_timeline_json(*source, *head, name, limits)
                                                       : read_op_timeline_csv(*source, *head, name, limits);
  if (!timeline.ok()) return timeline;
  if (source->end().truncated) timeline->defects.add(Defect::kTruncated);
  if (source->end().damaged) timeline->defects.add(Defect::kBadCompression);
  if (timeline->size() == 0) {
    const std::string why = timeline->first_bad_line == 0
                                ? "it has no rows"
                                : fmt::format("the first row that could not be used is number {}: {}",
                                              timeline->first_bad_line, timeline->first_bad);
    return Error{Error::Kind::kNotATrace, fmt::format("{}: no operation could be read; {}", name, why)};
  }
  return timeline;
}

}  // namespace eroica
