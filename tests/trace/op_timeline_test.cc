#include "trace/op_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

Result<OpTimeline> read(const std::string& text, size_t max_read = SIZE_MAX, const OpTimelineLimits& limits = {}) {
  return read_op_timeline(memory_source(text, max_read), "ops.csv", limits);
}

TEST(OpTimeline, ReadsCsv) {
  const auto timeline = read(kHeader +
                             "0,1,2,23,forward-compute,0.8486716747283936,0.13867968320846558,0,0,3,0\n"
                             "0,0,0,23,Params_All_Gather,1e-05,0,0,-1,-1,-1\r\n"
                             "1,1,3,24,optimizer,1700000000.5,2,1,,,\n");
  ASSERT_TRUE(timeline.ok()) << timeline.error().message;
  EXPECT_THAT(timeline->type, ElementsAre(OpType::kForwardCompute, OpType::kParamsSync, OpType::kOther));
  EXPECT_THAT(timeline->start_ns, ElementsAre(848671675, 10000, 1700000000500000000));
  EXPECT_THAT(timeline->duration_ns, ElementsAre(138679683, 0, 2000000000));
  EXPECT_THAT(timeline->step, ElementsAre(23, 23, 24));
  EXPECT_THAT(timeline->sequence, ElementsAre(0, 0, 1));
  EXPECT_THAT(timeline->chunk, ElementsAre(0, -1, -1));
  EXPECT_THAT(timeline->micro_batch, ElementsAre(3, -1, -1));
  EXPECT_THAT(timeline->workers,
              ElementsAre(TimelineWorker{0, 0, 0, 0}, TimelineWorker{0, 1, 2, 0}, TimelineWorker{1, 1, 3, 0}));
  EXPECT_THAT(timeline->worker, ElementsAre(1, 0, 2));
  EXPECT_EQ(timeline->names.text(timeline->name[2]), "optimizer");
  EXPECT_FALSE(timeline->defects.any());
}

TEST(OpTimeline, AnyOrderOfColumnsQuotesAndSeparators) {
  for (const std::string text :
       {"\xEF\xBB\xBF\"optype\",Duration, note ,start_ts,stage,dp_rank,step\n\"a \"\"b\"\",\nc\", \"1\",x,2,3,4,5\n",
        "optype;duration;start_ts;stage;dp_rank;step\n\"a \"\"b\"\",\nc\";1;2;3;4;5\n",
        "optype\tduration\tstart_ts\tstage\tdp_rank\tstep\n\"a \"\"b\"\",\nc\"\t1\t2\t3.0\t4\t5"}) {
    const auto timeline = read(text);
    ASSERT_TRUE(timeline.ok()) << timeline.error().message;
    ASSERT_EQ(timeline->size(), 1U) << timeline->first_bad;
    EXPECT_EQ(timeline->names.text(timeline->name[0]), "a \"b\",\nc");
    EXPECT_EQ(timeline->start_ns[0], 2000000000);
    EXPECT_EQ(timeline->workers[0], (TimelineWorker{4, 3, -1, 0}));
    EXPECT_EQ(timeline->step[0], 5);
  }
}

TEST(OpTimeline, TheLastRowMayEndWithTheFile) {
  for (const size_t max_read : {size_t{1}, SIZE_MAX}) {
    const auto timeline =
        read(kHeader + "0,0,0,1,forward-compute,1,2,0,0,0,0\n0,0,0,2,forward-compute,3,2,0,0,0,0", max_read);
    ASSERT_TRUE(timeline.ok()) << timeline.error().message;
    EXPECT_THAT(timeline->step, ElementsAre(1, 2));
    EXPECT_EQ(timeline->first_bad_line, 0u) << timeline->first_bad;
  }
}

TEST(OpTimeline, SeveralRanksOfOneStageAreLanes) {
  const auto timeline = read(kHeader + "0,0,7,1,optimizer,0,1\n0,0,3,1,optimizer,0,1\n1,0,5,1,optimizer,0,1\n");
  ASSERT_TRUE(timeline.ok());
  EXPECT_THAT(timeline->workers,
              ElementsAre(TimelineWorker{0, 0, 3, 0}, TimelineWorker{0, 0, 7, 1}, TimelineWorker{1, 0, 5, 0}));
}

TEST(OpTimeline, BadRowsAreCountedAndTheFirstIsNamed) {
  const auto timeline = read(kHeader +
                             "0,0,0,1,optimizer,0,1,0,0,0,0\n\n"
                             "0,0,0,one,optimizer,0,1,0,0,0,0\n"
                             "0,0\n"
                             "0,0,0,1,optimizer,nan,1,0,0,0,0\n"
                             "0,0,0,1,optimizer,0,1e300,0,0,0,0\n"
                             "-1,0,0,1,optimizer,0,1,0,0,0,0\n"
                             "0,0,0,1,,0,1,0,0,0,0\n" +
                             std::string(100'000, 'x') + "\n" +
                             "0,0,0,1,optimizer,0,-1,0,0,0,0\n"
                             "0,0,0,1,\"unclosed,0,1,0,0,0,0\n"
                             "0,0,0,1,optimizer,0,1,0,0,0,0\n");
  ASSERT_TRUE(timeline.ok());
  EXPECT_EQ(timeline->size(), 3U);
  EXPECT_EQ(timeline->defects.of(Defect::kBadEvent), 8U);
  EXPECT_EQ(timeline->defects.of(Defect::kNegativeDuration), 1U);
  EXPECT_EQ(timeline->first_bad_line, 4U);
  EXPECT_EQ(timeline->first_bad, "step is not a whole number");
}

TEST(OpTimeline, ErrorsNameFileAndPlace) {
  const auto no_header = read("a,b\n1,2\n");
  ASSERT_FALSE(no_header.ok());
  EXPECT_THAT(no_header.error().message, StartsWith("ops.csv:1: "));
  EXPECT_THAT(no_header.error().message, HasSubstr("missing: dp_rank, stage, step"));
  const auto no_row = read(kHeader + "0,0,0,1,optimizer,x,1\n");
  ASSERT_FALSE(no_row.ok());
  EXPECT_THAT(no_row.error().message, HasSubstr("number 2: start_ts is not a time"));
  for (const std::string text : {"", "[", "{}", "[]", "[1]", "{\"traceEvents\": 3}"}) EXPECT_FALSE(read(text).ok());
}

TEST(OpTimeline, KeepsToItsLimits) {
  std::string text = kHeader;
  for (int i = 0; i < 10; ++i) text += std::to_string(i) + ",0,0,1,optimizer,0,1\n";
  const auto few_workers = read(text, SIZE_MAX, {.operations = 100, .workers = 3});
  ASSERT_TRUE(few_workers.ok());
  EXPECT_EQ(few_workers->size(), 3U);
  EXPECT_EQ(few_workers->defects.of(Defect::kTrackOverflow), 7U);
  const auto few_rows = read(text, SIZE_MAX, {.operations = 4});
  ASSERT_TRUE(few_rows.ok());
  EXPECT_EQ(few_rows->size(), 4U);
}

const std::string kJson = R"([
  {"name":"backward-compute","cat":"backward-compute","pid":0,"tid":0,"ts":848671.5,"dur":138679.25,"ph":"X",
   "args":{"step":23,"model_chunk":1,"mb_id":2,"seq_id":3}},
  {"name":"forward-send","pid":0,"tid":9,"ts":1,"dur":2,"ph":"X","args":{"step":23,"seq_id":0}}, 7,
  {"name":"thread_name","pid":0,"tid":0,"ph":"M","args":{"name":"PP rank 3, TP rank 0, compute"}},
  {"name":"process_name","pid":0,"ph":"M","args":{"name":"DP rank [5]"}})";

TEST(OpTimeline, ReadsChromeEvents) {
  for (const std::string& text : {kJson + "]", "{\"traceEvents\":" + kJson + "]}", kJson}) {
    EXPECT_TRUE(is_op_timeline(text));
    const auto timeline = read(text);
    ASSERT_TRUE(timeline.ok()) << timeline.error().message;
    ASSERT_EQ(timeline->size(), 1U);
    EXPECT_EQ(timeline->workers[0], (TimelineWorker{5, 3, -1, 0}));
    EXPECT_EQ(timeline->start_ns[0], 848671500);
    EXPECT_EQ(timeline->duration_ns[0], 138679250);
    EXPECT_EQ(timeline->step[0], 23);
    EXPECT_EQ(timeline->chunk[0], 1);
    EXPECT_EQ(timeline->micro_batch[0], 2);
    EXPECT_EQ(timeline->sequence[0], 3);
    EXPECT_EQ(timeline->defects.of(Defect::kBadEvent), 2U);
    EXPECT_EQ(timeline->first_bad_line, 3U);
  }
}

TEST(OpTimeline, IsRecognised) {
  EXPECT_TRUE(is_op_timeline(kHeader));
  EXPECT_TRUE(is_op_timeline("optype,start_ts,duration,step,stage,dp_rank"));
  EXPECT_FALSE(is_op_timeline("optype,start_ts,duration,step,stage"));
  EXPECT_FALSE(is_op_timeline(""));
  EXPECT_FALSE(is_op_timeline(R"({"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::add"}]})"));
}

std::string shared(const std::string& name) {
  const char* folder = std::getenv("EROICA_SHARED");
  return std::string(folder == nullptr ? "" : folder) + "/data/traces/op-timeline-ST/" + name;
}

Result<OpTimeline> read_file(const std::string& path) {
  auto file = open_file(path);
  return file.ok() ? read_op_timeline(std::move(*file), path) : Result<OpTimeline>(file.error());
}

using Row = std::tuple<int32_t, int32_t, int32_t, std::string, int32_t, int32_t, int64_t, int64_t>;
std::vector<Row> rows(const OpTimeline& timeline) {
  std::vector<Row> result;
  for (size_t i = 0; i < timeline.size(); ++i) {
    const TimelineWorker& who = timeline.workers[timeline.worker[i]];
    result.emplace_back(who.dp, who.stage, timeline.step[i], timeline.names.text(timeline.name[i]),
                        timeline.sequence[i], timeline.chunk[i], timeline.start_ns[i], timeline.duration_ns[i]);
  }
  std::ranges::sort(result);
  return result;
}

TEST(OpTimeline, RealFileInBothForms) {
  if (!std::filesystem::exists(shared("trace-ST.csv"))) GTEST_SKIP() << "no shared data";
  const auto csv = read_file(shared("trace-ST.csv"));
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->size(), 6784U);
  EXPECT_EQ(csv->workers.size(), 8U);
  EXPECT_FALSE(csv->defects.any());
  const auto json = read_file(shared("timeline-ST.json.gz"));
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_FALSE(json->defects.any()) << json->first_bad;
  const std::vector<Row> a = rows(*csv);
  const std::vector<Row> b = rows(*json);
  ASSERT_EQ(a.size(), b.size());
  std::map<int32_t, int64_t> shift_of_step;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::get<3>(a[i]), std::get<3>(b[i]));
    // There the wait of a transfer is taken out already (it begins later), and the steps follow each other.
    const auto end_ns = [](const Row& row) { return std::get<6>(row) + std::get<7>(row); };
    const int64_t shift_ns = end_ns(b[i]) - end_ns(a[i]);
    const int64_t of_step_ns = shift_of_step.try_emplace(std::get<2>(a[i]), shift_ns).first->second;
    EXPECT_LE(std::abs(shift_ns - of_step_ns), 3) << i;
  }
}

RC_GTEST_PROP(OpTimeline, HowTheInputIsCutDoesNotShow, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("0,0,0,1,optimizer,0,1\n", "\"0\",1,0,1,\"a\nb\",0,1\n", "0,0,\"", "\n", "\r\n",
                                    "x,y\n", std::string(70'000, 'z'), "1,1,1,1,\"\"\"q\",5,6"));
  const std::string text = std::accumulate(lines.begin(), lines.end(), kHeader);
  const auto whole = read(text);
  const auto pieces = read(text, *rc::gen::inRange<size_t>(1, 5000));
  RC_ASSERT(whole.ok() == pieces.ok());
  if (!whole.ok()) return;
  RC_ASSERT(rows(*whole) == rows(*pieces));
  RC_ASSERT(whole->defects.count == pieces->defects.count);
  RC_ASSERT(whole->first_bad_line == pieces->first_bad_line);
}

}  // namespace
}  // namespace eroica
