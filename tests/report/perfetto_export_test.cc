#include "report/perfetto_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/trace_builder.h"
#include "trace/kineto_reader.h"

namespace eroica {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kHour = 3'600'000 * kMs;
constexpr int64_t kBaseUnixNs = 1'790'000'000'000'000'000;

struct Written {
  std::string text;
  PerfettoSummary summary;
  size_t pieces = 0;
  size_t longest_piece = 0;
};

Written written(const std::vector<ExportRank>& ranks, const PerfettoOptions& options = {}) {
  Written result;
  const auto summary = export_perfetto(ranks, options, [&](std::string_view bytes) {
    result.text += bytes;
    ++result.pieces;
    result.longest_piece = std::max(result.longest_piece, bytes.size());
    return ok_status();
  });
  EXPECT_TRUE(summary.ok()) << summary.error().message;
  if (summary.ok()) result.summary = *summary;
  return result;
}

std::vector<json> events(const Written& made, const std::string& phase, const std::string& name = "") {
  std::vector<json> result;
  const json document = json::parse(made.text);
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == phase && (name.empty() || event["name"] == name)) result.push_back(event);
  }
  return result;
}

ExportRank rank_of(int32_t rank, const Trace& trace, int64_t window_ms) {
  return {.rank = rank,
          .label = "h" + std::to_string(rank),
          .trace = &trace,
          .window_start_unix_ns = trace.base_unix_ns,
          .window_end_unix_ns = trace.base_unix_ns + window_ms * kMs};
}

/// A rank that trains: steps of uneven length, each with an all-reduce; `behind_ns`: how far its clock is behind.
void train(TraceBuilder& builder, int64_t behind_ns, bool numbered, int first_step) {
  builder.trace.base_unix_ns = kBaseUnixNs - behind_ns;
  std::mt19937 random(7);
  int64_t now_us = 0;
  for (int step = 0; step < 40; ++step) {
    const int64_t length_us = 60'000 + static_cast<int64_t>(random() % 20'000);
    if (step >= first_step) {
      Event& event = builder.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", now_us + length_us - 10'000, 10'000);
      Launch launch;
      launch.collective = static_cast<uint32_t>(builder.trace.collectives.size());
      CollectiveArgs args;
      args.kind = builder.trace.names.intern("allreduce");
      args.dtype = builder.trace.names.intern("Float");
      args.group_name = builder.trace.names.intern("dp");
      args.in_elements = args.out_elements = 1000;
      args.sequence = numbered ? step : -1;
      builder.trace.collectives.push_back(args);
      event.detail = static_cast<uint32_t>(builder.trace.launches.size());
      builder.trace.launches.push_back(launch);
    }
    now_us += length_us;
  }
  builder.trace.sort();
}

TEST(PerfettoExport, EachRankIsAProcessAndEachTrackAThread) {
  TraceBuilder builder;
  builder.host(Category::kOperator, "aten::add", 1000, 500);
  builder.kernel("gemm", 1200, 100);
  builder.trace.tracks[0].thread_name = "main";
  builder.trace.base_unix_ns = kBaseUnixNs;
  const Written made = written({rank_of(2, builder.trace, 10)});

  ASSERT_EQ(events(made, "M", "process_name").size(), 1U);
  EXPECT_EQ(events(made, "M", "process_name")[0]["args"]["name"], "rank 2 (h2)");
  std::vector<std::string> threads;
  for (const json& event : events(made, "M", "thread_name")) threads.push_back(event["args"]["name"]);
  EXPECT_THAT(threads, ElementsAre("rank 2 · thread 100 (main)", "rank 2 · device 0 stream 7"));

  const std::vector<json> slices = events(made, "X");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0]["name"], "aten::add");
  EXPECT_DOUBLE_EQ(slices[0]["ts"].get<double>(), 1000);
  EXPECT_DOUBLE_EQ(slices[0]["dur"].get<double>(), 500);
  EXPECT_EQ(slices[0]["pid"], slices[1]["pid"]);
  EXPECT_NE(slices[0]["tid"], slices[1]["tid"]);
  EXPECT_EQ(json::parse(made.text)["baseTimeNanoseconds"], kBaseUnixNs);
}

TEST(PerfettoExport, ArrowsGoFromLaunchesToTheirWork) {
  TraceBuilder builder;
  builder.trace.base_unix_ns = kBaseUnixNs;
  builder.launch(100, 10, 5);
  builder.launch(200, 10, 6);  // its kernel was not recorded
  builder.kernel("gemm", 150, 100, 5);
  const Written made = written({rank_of(0, builder.trace, 10)});
  ASSERT_EQ(events(made, "s").size(), 1U);
  ASSERT_EQ(events(made, "f").size(), 1U);
  const json from = events(made, "s")[0];
  const json to = events(made, "f")[0];
  EXPECT_EQ(from["id"], to["id"]);
  EXPECT_DOUBLE_EQ(from["ts"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(to["ts"].get<double>(), 150);
  EXPECT_EQ(to["bp"], "e");
  EXPECT_EQ(events(made, "X", "gemm")[0]["args"]["correlation"], 5);
}

TEST(PerfettoExport, ArrowsOfDifferentRanksDoNotMix) {
  TraceBuilder builder;
  builder.trace.base_unix_ns = kBaseUnixNs;
  builder.launch(100, 10, 5);
  builder.kernel("gemm", 150, 100, 5);
  const Written made = written({rank_of(0, builder.trace, 10), rank_of(1, builder.trace, 10)});
  std::set<int64_t> ids;
  for (const json& event : events(made, "s")) ids.insert(event["id"].get<int64_t>());
  EXPECT_EQ(ids.size(), 2U);
}

TEST(PerfettoExport, CollectivesTellGroupSequenceAndBytes) {
  TraceBuilder builder;
  train(builder, 0, true, 0);
  const json args = events(written({rank_of(0, builder.trace, 4000)}), "X")[3]["args"];
  EXPECT_EQ(args["collective"], "all_reduce");
  EXPECT_EQ(args["group"], "dp");
  EXPECT_EQ(args["seq"], 3);
  EXPECT_EQ(args["bytes"], 4000);
}

TEST(PerfettoExport, ClocksAreAlignedByTheEndsOfCollectives) {
  for (const bool numbered : {true, false}) {
    for (const int64_t behind_ns : {10 * kMs, kHour, -kHour}) {
      TraceBuilder one;
      TraceBuilder two;
      train(one, 0, numbered, 0);
      train(two, behind_ns, numbered, 3);
      const Written made = written({rank_of(1, two.trace, 4000), rank_of(0, one.trace, 4000)});
      ASSERT_EQ(made.summary.notes.size(), 1U);
      EXPECT_THAT(made.summary.notes[0], StartsWith("clock of rank 1 moved by"));
      std::map<int64_t, std::vector<double>> ends;
      for (const json& event : events(made, "X")) {
        ends[event["pid"].get<int64_t>()].push_back(event["ts"].get<double>() + event["dur"].get<double>());
      }
      ASSERT_EQ(ends.size(), 2U);
      const std::vector<double>& first = ends.begin()->second;
      const std::vector<double>& second = ends.rbegin()->second;
      ASSERT_EQ(first.size(), 40U);
      ASSERT_EQ(second.size(), 37U);
      for (size_t i = 0; i < second.size(); ++i) EXPECT_NEAR(first[i + 3], second[i], 0.001);
      EXPECT_LT(first.back(), 4'000'000);
    }
  }
}

TEST(PerfettoExport, AClockThatCannotBeAlignedStaysAndIsTold) {
  TraceBuilder one;
  TraceBuilder two;
  train(one, 0, true, 0);
  two.host(Category::kOperator, "aten::add", 1000, 500);
  two.trace.base_unix_ns = kBaseUnixNs + 50 * kMs;
  const Written made = written({rank_of(0, one.trace, 4000), rank_of(3, two.trace, 4000)});
  EXPECT_THAT(made.summary.warnings,
              ElementsAre("clock of rank 3 not aligned: it shares no barrier-like collective with the reference"));
  EXPECT_DOUBLE_EQ(events(made, "X", "aten::add")[0]["ts"].get<double>(), 51'000);
  EXPECT_THAT(made.text, HasSubstr("\"note 1\":\"clock of rank 3 not aligned"));
}

TEST(PerfettoExport, RanksThatShareAClockAreMovedAsOne) {
  TraceBuilder one;
  TraceBuilder two;
  TraceBuilder idle;
  train(one, 0, true, 0);
  train(two, 10 * kMs, true, 0);
  idle.host(Category::kOperator, "aten::add", 1000, 500);
  idle.trace.base_unix_ns = kBaseUnixNs - 10 * kMs;
  std::vector<ExportRank> ranks{rank_of(0, one.trace, 4000), rank_of(1, two.trace, 4000), rank_of(2, idle.trace, 4000)};
  ranks[1].clock = ranks[2].clock = "node1";
  const Written made = written(ranks);
  EXPECT_THAT(made.summary.warnings, ElementsAre());
  EXPECT_THAT(made.summary.notes,
              ElementsAre(StartsWith("clock of rank 1 moved by 10.000 ms"), HasSubstr("by rank 1 on the same clock")));
  EXPECT_DOUBLE_EQ(events(made, "X", "aten::add")[0]["ts"].get<double>(), 1000);

  ranks[0].clock = "node1";
  const Written same = written(ranks);
  EXPECT_THAT(same.summary.notes, ElementsAre());
  EXPECT_DOUBLE_EQ(events(same, "X", "aten::add")[0]["ts"].get<double>(), 1000);
}

TEST(PerfettoExport, TheErrorOfAClockCoversTheSpreadOfTheEnds) {
  TraceBuilder one;
  TraceBuilder two;
  train(one, 0, true, 0);
  train(two, 0, true, 0);
  for (size_t i = 0; i < 20; i += 2) two.trace.tracks[0].events[i].duration_ns += 2 * kMs;
  const Written made = written({rank_of(0, one.trace, 4000), rank_of(1, two.trace, 4000)});
  EXPECT_THAT(made.summary.notes, ElementsAre(HasSubstr("moved by 0.000 ms (± 2.000 ms)")));
}

TEST(PerfettoExport, AKernelWithoutArgumentsHasThoseOfTheOperatorThatLaunchedIt) {
  TraceBuilder builder;
  builder.trace.base_unix_ns = kBaseUnixNs;
  OpArgs args;
  args.collective = builder.collective("allreduce", "Float", 1000, "dp", "[0, 1]", 7);
  builder.trace.op_args.push_back(args);
  builder.host(Category::kOperator, "record_param_comms", 100, 50).detail =
      static_cast<uint32_t>(builder.trace.op_args.size() - 1);
  builder.launch(110, 10, 5);
  builder.launch(200, 10, 6);
  builder.kernel("ncclDevKernel_Generic_1", 150, 100, 5);
  builder.kernel("ncclDevKernel_Generic_1", 300, 100, 6);
  builder.trace.sort();
  const std::vector<json> kernels = events(written({rank_of(0, builder.trace, 10)}), "X", "ncclDevKernel_Generic_1");
  EXPECT_EQ(kernels[0]["args"]["collective"], "all_reduce");
  EXPECT_EQ(kernels[0]["args"]["group"], "dp [0, 1]");
  EXPECT_EQ(kernels[0]["args"]["seq"], 7);
  EXPECT_FALSE(kernels[1]["args"].contains("seq"));
}

TEST(PerfettoExport, TextIsWrittenInAscii) {
  TraceBuilder builder;
  builder.host(Category::kOperator, "\u202e \U0001f600 \u0085", 0, 10);
  const Written made = written({rank_of(0, builder.trace, 10)});
  EXPECT_TRUE(std::ranges::all_of(made.text, [](char c) { return static_cast<unsigned char>(c) < 0x7f; }));
  EXPECT_EQ(events(made, "X")[0]["name"], "\u202e \U0001f600 \u0085");
}

TEST(PerfettoExport, ATimeRangeCutsEventsAtItsEdges) {
  TraceBuilder builder;
  builder.trace.base_unix_ns = kBaseUnixNs;
  builder.host(Category::kOperator, "before", 0, 1000);
  builder.host(Category::kOperator, "across", 1000, 3000);
  builder.host(Category::kOperator, "inside", 2500, 100);
  builder.host(Category::kOperator, "behind", 5000, 100);
  builder.trace.sort();
  const Written made = written({rank_of(0, builder.trace, 10)}, {.from_ms = 2, .to_ms = 3});
  const std::vector<json> slices = events(made, "X");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0]["name"], "across");
  EXPECT_DOUBLE_EQ(slices[0]["ts"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(slices[0]["dur"].get<double>(), 1000);
  EXPECT_DOUBLE_EQ(slices[1]["ts"].get<double>(), 500);
  EXPECT_EQ(json::parse(made.text)["baseTimeNanoseconds"], kBaseUnixNs + 2 * kMs);
}

TEST(PerfettoExport, ARangeOutsideTheWindowIsAnError) {
  TraceBuilder builder;
  builder.host(Category::kOperator, "aten::add", 0, 1000);
  const auto sink = [](std::string_view) { return ok_status(); };
  const std::vector<ExportRank> ranks{rank_of(0, builder.trace, 10)};
  EXPECT_EQ(export_perfetto(ranks, {.from_ms = 20}, sink).error().kind, Error::Kind::kInvalid);
  EXPECT_EQ(export_perfetto(ranks, {.from_ms = 5, .to_ms = 4}, sink).error().kind, Error::Kind::kInvalid);
  EXPECT_EQ(export_perfetto({}, {}, sink).error().kind, Error::Kind::kInvalid);
}

TEST(PerfettoExport, OverlappingExecutionsGetLanesOfTheirOwn) {
  TraceBuilder builder;
  builder.host(Category::kAnnotation, "gloo:all_reduce", 0, 1000, "loop");
  builder.host(Category::kAnnotation, "gloo:all_reduce", 500, 1000, "loop");
  builder.trace.sort();
  const Written made = written({rank_of(0, builder.trace, 10)});
  EXPECT_EQ(events(made, "M", "thread_name").size(), 2U);
  EXPECT_EQ(events(made, "M", "thread_name")[1]["args"]["name"], "rank 0 · thread loop · 2");
  EXPECT_NE(events(made, "X")[0]["tid"], events(made, "X")[1]["tid"]);
}

TEST(PerfettoExport, CountersOfTheTraceAndOfTheJob) {
  TraceBuilder builder;
  builder.host(Category::kOperator, "aten::add", 0, 9000);
  builder.trace.base_unix_ns = kBaseUnixNs;
  builder.trace.samples.base_unix_ns = kBaseUnixNs;
  builder.trace.samples.series.push_back({"GPU 0 Counters", "sm__cycles", "", {{kMs, 0.5}, {20 * kMs, 1}}});
  const SampleSet samples{kBaseUnixNs, {{"rank 0", "cpu.run", "cores", {{2 * kMs, 0.25}, {3 * kMs, NAN}}}}};
  const Written made = written({rank_of(0, builder.trace, 10)}, {.samples = &samples});
  const std::vector<json> counters = events(made, "C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0]["name"], "GPU 0 Counters sm__cycles");
  EXPECT_EQ(counters[0]["args"]["value"], 0.5);
  EXPECT_EQ(counters[1]["name"], "rank 0 cpu.run");
  EXPECT_EQ(counters[1]["args"]["cores"], 0.25);
  EXPECT_NE(counters[0]["pid"], counters[1]["pid"]);
}

TEST(PerfettoExport, HostileNamesAreStillJson) {
  TraceBuilder builder;
  builder.host(Category::kOperator, "a \"quote\" \\ \n \x01 \xff ü", 0, 10);
  const Written made = written({rank_of(0, builder.trace, 10)});
  EXPECT_EQ(events(made, "X")[0]["name"], "a \"quote\" \\     ? ü");
}

TEST(PerfettoExport, AbsurdTimesAreTolerated) {
  for (const int64_t base_unix_ns : {INT64_MAX - 5, INT64_MIN + 5, int64_t{0}}) {
    TraceBuilder one;
    TraceBuilder two;
    train(one, 0, true, 0);
    train(two, 0, true, 0);
    two.trace.base_unix_ns = base_unix_ns;
    two.trace.samples = {INT64_MAX, {{"GPU", "clock", "", {{INT64_MAX, 1}, {INT64_MIN, 1}}}}};
    ExportRank absurd = rank_of(1, one.trace, 0);
    absurd.trace = &two.trace;
    absurd.window_start_unix_ns = INT64_MIN;
    absurd.window_end_unix_ns = INT64_MAX;
    const Written made = written({rank_of(0, one.trace, 4000), absurd}, {.from_ms = -1e300, .to_ms = 1e300});
    EXPECT_TRUE(json::accept(made.text));
  }
}

TEST(PerfettoExport, TheOutputIsStreamedAndTheSameEachTime) {
  TraceBuilder builder;
  for (int i = 0; i < 20'000; ++i) builder.host(Category::kOperator, "aten::add", i * 10, 5);
  builder.trace.sort();
  const Written made = written({rank_of(0, builder.trace, 1000)});
  EXPECT_GT(made.pieces, 10U);
  EXPECT_LT(made.longest_piece, size_t{100} << 10);
  EXPECT_EQ(made.summary.events, 20'000U);
  EXPECT_EQ(written({rank_of(0, builder.trace, 1000)}).text, made.text);
}

TEST(PerfettoExport, TheSinksErrorEndsIt) {
  TraceBuilder builder;
  for (int i = 0; i < 20'000; ++i) builder.host(Category::kOperator, "aten::add", i * 10, 5);
  builder.trace.sort();
  for (const bool gzip : {false, true}) {
    int calls = 0;
    const auto result =
        export_perfetto(std::vector{rank_of(0, builder.trace, 1000)}, {.gzip = gzip}, [&](std::string_view) -> Status {
          ++calls;
          return Error{Error::Kind::kWrite, "disk full"};
        });
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "disk full");
    EXPECT_EQ(calls, 1);
  }
}

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::vector<char> piece(1 << 16);
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0U);
  inflateEnd(&stream);
  return text;
}

TEST(PerfettoExport, GzipHoldsTheSame) {
  TraceBuilder builder;
  for (int i = 0; i < 20'000; ++i) builder.host(Category::kOperator, "aten::add", i * 10, 5);
  builder.trace.sort();
  const Written plain = written({rank_of(0, builder.trace, 1000)});
  const Written packed = written({rank_of(0, builder.trace, 1000)}, {.gzip = true});
  EXPECT_LT(packed.text.size(), plain.text.size() / 5);
  EXPECT_EQ(gunzip(packed.text), plain.text);
}

TEST(PerfettoExport, OurOwnReaderReadsItBack) {
  TraceBuilder builder;
  train(builder, 0, true, 0);
  const Written made = written({rank_of(0, builder.trace, 4000)});
  const auto again = read_kineto(memory_source(made.text));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->timed_events, 40U);
  EXPECT_FALSE(again->defects.any());
  EXPECT_EQ(again->base_unix_ns, kBaseUnixNs + 0);
}

Trace shared_trace(const std::filesystem::path& path) {
  auto file = open_file(path);
  EXPECT_TRUE(file.ok());
  auto trace = read_kineto(std::move(*file));
  EXPECT_TRUE(trace.ok());
  return std::move(*trace);
}

TEST(PerfettoExport, RecordedRanksWhoseClockWasMovedAnHourMeetAgain) {
  const char* shared = std::getenv("EROICA_SHARED");
  const std::filesystem::path root = shared != nullptr && *shared != '\0' ? shared : EROICA_SOURCE_DIR "/../shared";
  const std::filesystem::path folder = root / "data/incidents/healthy-1";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  constexpr int64_t kWindowStartUnixNs = 1'795'958'760'511 * kMs;
  std::deque<Trace> traces;
  for (int rank = 0; rank < 4; ++rank)
    traces.push_back(shared_trace(folder / ("rank" + std::to_string(rank) + ".json.gz")));
  std::vector<ExportRank> ranks;
  for (int32_t rank = 0; rank < 4; ++rank) {
    const int64_t behind_ns = rank * kHour;  // one machine: their clocks are the same
    Trace& trace = traces[static_cast<size_t>(rank)];
    trace.base_unix_ns -= behind_ns;
    ranks.push_back({.rank = rank,
                     .trace = &trace,
                     .window_start_unix_ns = kWindowStartUnixNs - behind_ns,
                     .window_end_unix_ns = kWindowStartUnixNs - behind_ns + 3000 * kMs});
  }
  const Written made = written(ranks, {.from_ms = 1000, .to_ms = 1200});
  ASSERT_EQ(made.summary.notes.size(), 3U);
  for (int64_t rank = 1; rank < 4; ++rank) {
    const std::string& note = made.summary.notes[static_cast<size_t>(rank - 1)];
    const std::string start = "clock of rank " + std::to_string(rank) + " moved by ";
    ASSERT_THAT(note, StartsWith(start));
    EXPECT_NEAR(std::stod(note.substr(start.size())), static_cast<double>(rank * 3'600'000), 3) << note;
  }
  const std::vector<json> slices = events(made, "X");
  EXPECT_GT(slices.size(), 1000U);
  std::set<int64_t> pids;
  for (const json& slice : slices) {
    pids.insert(slice["pid"].get<int64_t>());
    EXPECT_GE(slice["ts"].get<double>(), 0);
    EXPECT_LE(slice["ts"].get<double>() + slice["dur"].get<double>(), 206'000);
  }
  EXPECT_EQ(pids.size(), 4U);
}

}  // namespace
}  // namespace eroica
