// The shapes of traces that people have, each read as its writer meant it.

#include "trace/kineto_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "trace_text.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Trace read(const std::string& document, size_t block_bytes = 256 << 10) {
  Result<Trace> trace = read_kineto(memory_source(document), {.block_bytes = block_bytes, .progress = {}});
  if (!trace.ok()) {
    ADD_FAILURE() << trace.error().message;
    return Trace();
  }
  return std::move(*trace);
}

Error error_of(const std::string& document) {
  const Result<Trace> trace = read_kineto(memory_source(document));
  return trace.ok() ? Error{Error::Kind::kInvalid, "no error"} : trace.error();
}

std::string events(const std::string& elements) { return "{\"traceEvents\": [" + elements + "]}"; }

std::string_view name_of(const Trace& trace, const Event& event) { return trace.names.text(event.name); }

const Event& only_event(const Trace& trace) {
  EXPECT_EQ(trace.timed_events, 1U);
  return trace.tracks.at(0).events[0];
}

TEST(KinetoReader, ReadsAnOperatorWithItsArguments) {
  const Trace trace = read(R"({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA B200", "totalGlobalMem": 1}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 16, "pg_count": 2, "pg_config": [
      {"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 16, "ranks": [0, 1, 2]},
      {"pg_name": 7, "pg_desc": "tp", "pg_size": "2", "ranks": "[3, 5]"}]},
  "host_name": "node-1", "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::\u00e4dd", "pid": 6003, "tid": "6020",
    "ts": 5101734559715.594, "dur": 58743.115,
    "args": {
      "External id": 1537,"Record function id": 0, "Sequence number": 42, "Input type": ["float"],
      "Input Dims": [[985728]], "Concrete Inputs": ["1"], "Ev Idx": 0
    }
  }
  ], "traceName": "/job/trace.json"
})");
  EXPECT_EQ(trace.base_unix_ns, 1790857026000000000);
  EXPECT_EQ(trace.metadata.rank, 3);
  EXPECT_EQ(trace.metadata.world_size, 16);
  EXPECT_EQ(trace.metadata.backend, "nccl");
  EXPECT_EQ(trace.metadata.host_name, "node-1");
  EXPECT_EQ(trace.metadata.trace_name, "/job/trace.json");
  EXPECT_THAT(trace.metadata.devices, ElementsAre("NVIDIA B200"));
  ASSERT_EQ(trace.metadata.groups.size(), 2U);
  EXPECT_EQ(trace.metadata.groups[0].desc, "default_pg");
  EXPECT_THAT(trace.metadata.groups[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(trace.metadata.groups[1].name, "7");
  EXPECT_EQ(trace.metadata.groups[1].size, 2);
  EXPECT_THAT(trace.metadata.groups[1].ranks, ElementsAre(3, 5));
  EXPECT_FALSE(trace.defects.any());

  const Event& event = only_event(trace);
  EXPECT_EQ(event.start_ns, 5101734559715594);
  EXPECT_EQ(event.duration_ns, 58743115);
  EXPECT_EQ(event.category, Category::kOperator);
  EXPECT_EQ(name_of(trace, event), "aten::ädd");
  EXPECT_EQ(event.id, 1537U);
  EXPECT_EQ(event.link, 42U);
  const OpArgs& args = trace.op_args[event.detail];
  EXPECT_EQ(trace.names.text(args.input_dims), "[[985728]]");
  EXPECT_EQ(trace.names.text(args.input_types), "[\"float\"]");
  EXPECT_EQ(args.concrete_inputs, StringTable::kEmpty);
  EXPECT_EQ(trace.tracks[0].pid, "6003");
  EXPECT_EQ(trace.tracks[0].tid, "6020");
  EXPECT_FALSE(trace.tracks[0].device);
}

TEST(KinetoReader, ReadsABareArrayAndMetadataAfterTheEvents) {
  const std::string event = R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2})";
  EXPECT_EQ(read("[" + event + "]").timed_events, 1U);
  EXPECT_EQ(read("\xef\xbb\xbf [ " + event + " ] \n").timed_events, 1U);
  EXPECT_EQ(read("[]").timed_events, 0U);
  const Trace late = read(R"({"traceEvents": [], "distributedInfo": {"rank": 5}, "baseTimeNanoseconds": 9})");
  EXPECT_EQ(late.metadata.rank, 5);
  EXPECT_EQ(late.base_unix_ns, 9);
  EXPECT_FALSE(late.defects.any());
}

TEST(KinetoReader, ReadsKernelsCopiesAndTheirCollectives) {
  const Trace trace = read(events(R"(
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {
      "External id": 12, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 99,
      "grid": [
        8,
        1, 1], "block": [128, 1, 1], "graph id": 5, "graph node id": 77, "Collective name": "allreduce",
      "In msg nelems": 100, "Out msg nelems": 200, "Group size": 2, "dtype": "Float", "Process Group Name": "0",
      "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, ...]", "Seq": 31, "Src Rank": 1,
      "Dst Rank": 0}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 9, "dur": 2, "args": {
      "stream": 7, "correlation": 100, "bytes": 5242880}},
    {"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": -1, "ts": 9, "dur": 2, "args": {
      "stream": -1, "correlation": 101}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, "ts": 0, "dur": 20, "args": {
      "External id": 4}},
    {"ph": "X", "cat": "python_function", "name": "f", "pid": 0, "tid": 7, "ts": 0, "dur": 20, "args": {
      "Python id": 4, "Python parent id": null}},
    {"ph": "X", "cat": "mtia_ccp_events", "name": "wait", "pid": 17, "tid": 3774, "ts": 0, "dur": 20, "args": {
      "stream": 108}})"));
  ASSERT_EQ(trace.tracks.size(), 4U);
  EXPECT_FALSE(trace.tracks[0].device);
  EXPECT_EQ(trace.tracks[1].tid, "7");
  EXPECT_TRUE(trace.tracks[1].device);
  EXPECT_EQ(trace.tracks[1].stream, 7);
  EXPECT_EQ(trace.tracks[2].stream, -1);
  EXPECT_EQ(trace.tracks[3].stream, 108);

  const Event& python = trace.tracks[0].events[0];
  EXPECT_EQ(python.id, 4U);
  EXPECT_EQ(python.link, Event::kNoId);
  const Event& annotation = trace.tracks[1].events[0];
  EXPECT_EQ(annotation.category, Category::kGpuAnnotation);
  EXPECT_EQ(annotation.id, 4U);
  const Event& kernel = trace.tracks[1].events[1];
  EXPECT_EQ(kernel.id, 99U);
  EXPECT_EQ(kernel.link, 12U);
  EXPECT_EQ(kernel.flags, Event::kGraph);
  const Launch& launch = trace.launches[kernel.detail];
  EXPECT_EQ(trace.names.text(launch.grid), "[8, 1, 1]");
  EXPECT_EQ(launch.graph, 5);
  EXPECT_EQ(launch.graph_node, 77);
  const CollectiveArgs& collective = trace.collectives[launch.collective];
  EXPECT_EQ(trace.names.text(collective.kind), "allreduce");
  EXPECT_EQ(trace.names.text(collective.group_ranks), "[0, 1, ...]");
  EXPECT_EQ(collective.in_elements, 100);
  EXPECT_EQ(collective.out_elements, 200);
  EXPECT_EQ(collective.group_size, 2);
  EXPECT_EQ(collective.sequence, 31);
  EXPECT_EQ(collective.src_rank, 1);
  EXPECT_EQ(collective.dst_rank, 0);
  EXPECT_EQ(trace.bytes[trace.tracks[1].events[2].detail], 5242880U);
  EXPECT_FALSE(trace.defects.any());
}

TEST(KinetoReader, ReadsTheOldSchema) {
  const Trace trace = read(events(R"json(
    {"ph": "X", "cat": "Operator", "name": "aten::empty", "pid": 5, "tid": "25738", "ts": 1623142623460111, "dur": 25,
     "args": {"External id": 2, "Input Dims": [[]], "Call stack": "c.py(3): h;b.py(2): g;a.py(1): f"}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1623142623531625, "dur": 2,
     "args": {"stream": 7, "correlation": 34441, "external id": 544}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 5, "tid": 25738, "ts": 1623142623529088, "dur": 2,
     "args": {"correlation": 34417, "external id": 537}},
    {"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_name", "pid": 5, "tid": "25738", "args": {"name": "main"}},
    {"ph": "X", "cat": "Trace", "ts": 1623142623460016, "dur": 9, "pid": "Traces", "tid": "PyTorch Profiler",
     "name": "PyTorch Profiler (0)"})json"));
  ASSERT_EQ(trace.tracks.size(), 3U);
  const Track& host = trace.tracks[0];
  EXPECT_EQ(host.events.size(), 2U);
  EXPECT_EQ(host.process_name, "python");
  EXPECT_EQ(host.thread_name, "main");
  EXPECT_EQ(host.events[0].start_ns, 1623142623460111000);
  EXPECT_EQ(trace.names.text(trace.op_args[host.events[0].detail].call_stack), "a.py(1): f;b.py(2): g;c.py(3): h");
  EXPECT_EQ(host.events[1].link, 537U);
  EXPECT_EQ(trace.tracks[1].pid, "Traces");
  EXPECT_EQ(trace.tracks[2].stream, 7);
  EXPECT_EQ(trace.tracks[2].events[0].link, 544U);
  EXPECT_FALSE(trace.defects.any());
}

TEST(KinetoReader, MatchesBeginsWithEnds) {
  const Trace trace = read(events(R"(
    {"ph": "B", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 10},
    {"ph": "B", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 11},
    {"ph": "B", "cat": "cpu_op", "name": "elsewhere", "pid": 1, "tid": 2, "ts": 11},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 12.5},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 14},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 15},
    {"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20},
    {"ph": "E", "pid": 0, "tid": 7, "ts": 19})"));
  EXPECT_EQ(testkit::events_text(trace), "outer 10000+4000\ninner 11000+1500\nk 20000+0\n");
  EXPECT_EQ(trace.defects.of(Defect::kUnmatchedBegin), 1U);
  EXPECT_EQ(trace.defects.of(Defect::kUnmatchedEnd), 1U);
  EXPECT_EQ(trace.defects.of(Defect::kNegativeDuration), 1U);
}

TEST(KinetoReader, TimesAreExactIntegers) {
  const auto start = [](const std::string& ts) {
    const Trace trace = read(events(R"({"ph": "X", "name": "a", "pid": 1, "tid": 1, "dur": 1, "ts": )" + ts + "}"));
    EXPECT_FALSE(trace.defects.any()) << ts;
    return only_event(trace).start_ns;
  };
  EXPECT_EQ(start("5"), 5000);
  EXPECT_EQ(start("\"5.25\""), 5250);
  EXPECT_EQ(start("1790857026123456.789"), 1790857026123456789);  // not a double
  EXPECT_EQ(start("1669783687464181"), 1669783687464181000);
  EXPECT_EQ(start("-3.5"), -3500);
  EXPECT_EQ(start("1.5e3"), 1500000);
  EXPECT_EQ(start("25E-1"), 2500);
  EXPECT_EQ(start("0.0004"), 0);
  EXPECT_EQ(start("0.0005"), 1);
  EXPECT_EQ(start("848671.6747283936"), 848671675);
  EXPECT_EQ(start("1e-400"), 0);
}

TEST(KinetoReader, CountsFieldsThatAreWrong) {
  const Trace trace = read(events(R"(
    {"ph": "X", "name": "no dur", "pid": 1, "tid": 1, "ts": 1},
    {"ph": "X", "name": "no ts", "pid": 1, "tid": 1, "dur": 1},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 2, "dur": 1},
    {"ph": "X", "name": "null dur", "pid": 1, "tid": 1, "ts": 3, "dur": null},
    {"ph": "X", "name": "negative", "pid": 1, "tid": 1, "ts": 4, "dur": -1},
    {"ph": "X", "name": "huge", "pid": 1, "tid": 1, "ts": 5, "dur": 1e30},
    {"ph": "X", "name": "huge ts", "pid": 1, "tid": 1, "ts": 1e30, "dur": 1},
    {"ph": "X", "name": "bad ts", "pid": 1, "tid": 1, "ts": [1], "dur": 1},
    {"ph": "X", "name": ["bad name"], "pid": 1, "tid": 1, "ts": 6, "dur": 1},
    {"ph": "X", "name": "bad pid", "pid": {"a": 1}, "tid": 1, "ts": 7, "dur": 1},
    {"ph": ["X"], "name": "bad ph", "pid": 1, "tid": 1, "ts": 8, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "bad id", "pid": 1, "tid": 1, "ts": 9, "dur": 1, "args": {"External id": "x"}},
    {"ph": "X", "cat": "cpu_op", "name": "ids", "pid": 1, "tid": 1, "ts": 10, "dur": 1,
     "args": {"External id": 8589934600, "Sequence number": 99999999999999999999}},
    {"ph": "X", "cat": "cpu_op", "name": "far", "pid": 1, "tid": 1, "ts": 11, "dur": 1,
     "args": {"External id": 85899346000}},
    {"ph": "X", "name": "args are a list", "pid": 1, "tid": 1, "ts": 12, "dur": 1, "args": [1, {"a": [2]}]},
    7, null, "text", [1, 2], {})"));
  EXPECT_EQ(trace.defects.of(Defect::kMissingField), 3U);
  EXPECT_EQ(trace.defects.of(Defect::kNegativeDuration), 1U);
  EXPECT_EQ(trace.defects.of(Defect::kHugeValue), 2U);
  EXPECT_EQ(trace.defects.of(Defect::kBadField), 5U);
  EXPECT_EQ(trace.defects.of(Defect::kIdOutOfRange), 2U);
  EXPECT_EQ(trace.defects.of(Defect::kBadEvent), 9U);
  EXPECT_EQ(trace.defects.of(Defect::kRepairedEvent), 0U);
  EXPECT_EQ(trace.timed_events, 11U);
}

TEST(KinetoReader, KeepsLargeIdsApart) {
  const Trace trace = read(events(R"(
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"External id": 8589934600}},
    {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"External id": 8589934601}})"));
  const auto& events = trace.tracks[0].events;
  EXPECT_EQ(events[1].id - events[0].id, 1U);
  EXPECT_FALSE(trace.defects.any());
}

TEST(KinetoReader, FlagsUnfinishedEvents) {
  const Trace trace = read(events(
      R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"finished": false}})"));
  EXPECT_EQ(only_event(trace).flags, Event::kUnfinished);
}

TEST(KinetoReader, ReadsCounters) {
  const Trace trace = read(R"({"baseTimeNanoseconds": 5, "traceEvents": [
    {"ph": "C", "name": "cpu.run", "pid": "rank 0", "tid": 0, "ts": 2, "args": {"cores": 0.5}},
    {"ph": "C", "name": "sm__cycles", "pid": "GPU 0 Counters", "ts": 2.5, "args": {"": 7}},
    {"ph": "C", "name": "cpu.run", "pid": "rank 0", "tid": 0, "ts": 1, "args": {"cores": "0.25", "bad": "x"}}]})");
  EXPECT_EQ(trace.samples.base_unix_ns, 5);
  ASSERT_EQ(trace.samples.series.size(), 2U);
  const SampleSeries& gpu = trace.samples.series[0];
  EXPECT_EQ(gpu.entity + "|" + gpu.metric + "|" + gpu.unit, "GPU 0 Counters|sm__cycles|");
  const SampleSeries& cpu = trace.samples.series[1];
  EXPECT_EQ(cpu.entity + "|" + cpu.metric + "|" + cpu.unit, "rank 0|cpu.run|cores");
  ASSERT_EQ(cpu.samples.size(), 2U);
  EXPECT_EQ(cpu.samples[0].time_ns, 1000);
  EXPECT_EQ(cpu.samples[0].value, 0.25);
  EXPECT_EQ(trace.defects.of(Defect::kBadField), 1U);
  EXPECT_EQ(trace.timed_events, 0U);
}

TEST(KinetoReader, IgnoresFlowsAndInstants) {
  const Trace trace = read(events(R"(
    {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 1, "pid": 1, "tid": 1, "ts": 2, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 3},
    {"ph": "N", "id": "0x1", "id2": {"local": "0x1"}, "name": "o", "pid": 1, "tid": 1, "ts": 4})"));
  EXPECT_EQ(trace.timed_events, 0U);
  EXPECT_TRUE(trace.tracks.empty());
  EXPECT_FALSE(trace.defects.any());
}

TEST(KinetoReader, BoundsThreadsAndNames) {
  std::string elements;
  for (int i = 0; i < 70000; ++i) {
    elements += (i > 0 ? "," : "") + std::string(R"({"ph":"X","name":"a","pid":1,"ts":1,"dur":1,"tid":)") +
                std::to_string(i) + "}";
  }
  const Trace many = read(events(elements));
  EXPECT_EQ(many.tracks.size(), 65536U);
  EXPECT_EQ(many.timed_events, 70000U);
  EXPECT_EQ(many.defects.of(Defect::kTrackOverflow), 70000U - 65535U);

  const Trace named =
      read(events(R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":")" + std::string(5000, 'n') +
                  R"("}, {"ph":"X","pid":1,"tid":1,"ts":2,"dur":1,"name":")" + std::string(4095, 'm') + "ä\"}"));
  EXPECT_EQ(named.defects.of(Defect::kLongString), 2U);
  EXPECT_EQ(name_of(named, named.tracks[0].events[0]), std::string(4096, 'n'));
  EXPECT_EQ(name_of(named, named.tracks[0].events[1]), std::string(4095, 'm'));  // not half a character
}

TEST(KinetoReader, KeepsApartTextsThatAreWrittenAlike) {
  // What one name means is how another, and its arguments, are written.
  const auto event = [](int ts, const std::string& name) {
    return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "pid": 1, "tid": 1, "dur": 1, "ts": )" +
           std::to_string(ts) + R"(, "args": {"Input Dims": ")" + name + "\"}}";
  };
  const Trace trace = read(events(event(1, R"(C:\\\\temp)") + "," + event(2, R"(C:\\temp)") + "," +
                                  event(3, R"(C:\\\\temp)") + "," + event(4, R"(C:\\temp)")));
  ASSERT_EQ(trace.timed_events, 4U);
  std::vector<std::string_view> texts;
  for (const Event& parsed : trace.tracks[0].events) {
    texts.push_back(name_of(trace, parsed));
    texts.push_back(trace.names.text(trace.op_args[parsed.detail].input_dims));
  }
  EXPECT_THAT(texts, ElementsAre(R"(C:\\temp)", R"("C:\\\\temp")", R"(C:\temp)", R"("C:\\temp")",  //
                                 R"(C:\\temp)", R"("C:\\\\temp")", R"(C:\temp)", R"("C:\\temp")"));
}

TEST(KinetoReader, ReportsProgress) {
  std::string elements = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  for (int i = 0; i < 1000; ++i) elements += R"(, {"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  const std::string document = events(elements);
  std::vector<uint64_t> consumed;
  const Result<Trace> trace = read_kineto(
      memory_source(document), {.block_bytes = 4096, .progress = [&](uint64_t n) { consumed.push_back(n); }});
  ASSERT_TRUE(trace.ok());
  EXPECT_GE(consumed.size(), document.size() / 4096);
  EXPECT_TRUE(std::is_sorted(consumed.begin(), consumed.end()));
  EXPECT_LE(consumed.back(), document.size());
}

TEST(KinetoReader, SaysWhyAFileIsNoTrace) {
  EXPECT_THAT(error_of("").message, HasSubstr("holds no data (0 bytes)"));
  EXPECT_THAT(error_of(" \n").message, HasSubstr("holds no data"));
  EXPECT_THAT(error_of("hello").message, HasSubstr("not JSON: it starts with 'hello' at byte 0"));
  EXPECT_THAT(error_of("PK\x03\x04").message, HasSubstr("zip archive"));
  EXPECT_THAT(error_of("{\"a\": 1}").message, HasSubstr("no \"traceEvents\" up to its end at byte 8"));
  EXPECT_THAT(error_of("{\"a\": [1, ").message, HasSubstr("ends at byte 10 before any \"traceEvents\""));
  EXPECT_THAT(error_of("{\"traceEvents\": 7}").message, HasSubstr("no \"traceEvents\""));
  EXPECT_THAT(error_of("[1, 2, 3]").message, HasSubstr("not of trace events"));
  EXPECT_EQ(error_of("").kind, Error::Kind::kNotATrace);
}

TEST(KinetoReader, ReadsBothOfTwoEventArrays) {
  const Trace trace = read(R"({"traceEvents": [{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}],
    "traceEvents": [{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":1}], "host_name": "x", "host_name": "y"})");
  EXPECT_EQ(testkit::events_text(trace), "a 1000+1000\nb 2000+1000\n");
  EXPECT_EQ(trace.defects.of(Defect::kDuplicateKey), 2U);
  EXPECT_EQ(trace.metadata.host_name, "y");
}

}  // namespace
}  // namespace eroica
