#include "trace/bundle_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <set>
#include <string>

namespace eroica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string with(const std::string& members) { return R"({"schema": "eroica.bundle/1", )" + members + "}"; }

BundleDocument parsed(const std::string& text) {
  Result<BundleDocument> document = parse_bundle(text, "bundle.json");
  if (!document.ok()) {
    ADD_FAILURE() << document.error().message;
    return {};
  }
  return std::move(*document);
}

std::string refused(const std::string& text, Error::Kind kind = Error::Kind::kInvalid) {
  const Result<BundleDocument> document = parse_bundle(text, "bundle.json");
  if (document.ok()) return "(accepted)";
  EXPECT_EQ(document.error().kind, kind);
  return document.error().message;
}

TEST(BundleDocument, ReadsWhatTheProbeSawAtTheEdges) {
  const BundleDocument bundle = parsed(with(R"("ranks": [{"rank": 0, "edges": {
    "start": {"unix_ns": 1000, "step": 7, "step_unix_ns": 900,
              "groups": [{"name": 0, "last_enqueued": 12, "last_completed": 11}, {"name": "tp"}]},
    "end": {"unix_ns": 2000}}}, {"rank": 1, "edges": null}])"));
  ASSERT_EQ(bundle.ranks.size(), 2U);
  const WindowEdges& edges = bundle.ranks[0].rank.edges;
  ASSERT_TRUE(edges.start && edges.end);
  EXPECT_EQ(edges.start->unix_ns, 1000);
  EXPECT_EQ(edges.start->step, 7);
  EXPECT_EQ(edges.start->step_unix_ns, 900);
  ASSERT_EQ(edges.start->groups.size(), 2U);
  EXPECT_EQ(edges.start->groups[0].group, "0");
  EXPECT_EQ(edges.start->groups[0].last_enqueued, 12);
  EXPECT_EQ(edges.start->groups[0].last_completed, 11);
  EXPECT_EQ(edges.start->groups[1].last_completed, -1);
  EXPECT_EQ(edges.end->step, 0);
  EXPECT_FALSE(bundle.ranks[1].rank.edges.start);
  EXPECT_EQ(parsed(with(R"("ranks": [{"rank": 0, "trace": "a.json", "stacks": "s.json"}])")).ranks[0].stacks.path,
            "s.json");
  EXPECT_THAT(refused(with(R"("ranks": [{"rank": 0, "edges": {"end": {"step": 7}}}])")),
              HasSubstr("ranks[0].edges.end.unix_ns: missing"));
  EXPECT_THAT(refused(with(R"("ranks": [{"rank": 0, "edges": {"end": {"unix_ns": 1, "step": -7}}}])")),
              HasSubstr("ranks[0].edges.end.step"));
}

TEST(BundleDocument, ReadsTheWholeContract) {
  const BundleDocument bundle = parsed(R"({
    "schema": "eroica.bundle/1",
    "job": {"id": "llama-7b", "world_size": 4, "owner": "somebody"},
    "window": {"start_unix_ns": 1765861757291521146, "duration_ms": 772.564},
    "hosts": [{"name": "n0", "machine": "vm", "samples": "samples-n0.json.zst",
               "labels": {"cuda": "12.4", "env": {"B": "1", "A": [1, 2]}, "gpus": 2}}],
    "samples": ["samples.json.gz"],
    "ranks": [{"rank": 2, "host": "n1", "trace": "r2.json", "labels": {"torch": "2.9"}},
              {"rank": 0, "host": "n0", "gpu": 3, "pid": 4711, "trace": "sub/r0.json.gz"}],
    "groups": [{"name": "0", "desc": "default_pg", "ranks": [0, 2]}],
    "unknown": {"deep": [1, 2, 3]}})");

  EXPECT_EQ(bundle.job_id, "llama-7b");
  EXPECT_EQ(bundle.world_size, 4);
  ASSERT_TRUE(bundle.window);
  EXPECT_EQ(bundle.window->start_unix_ns, 1765861757291521146);
  EXPECT_EQ(bundle.window->duration_ns, 772564000);
  ASSERT_EQ(bundle.hosts.size(), 2U);
  EXPECT_EQ(bundle.hosts[0].machine, "vm");
  EXPECT_THAT(bundle.hosts[0].labels,
              ElementsAre(Pair("cuda", "12.4"), Pair("env.A", "[1,2]"), Pair("env.B", "1"), Pair("gpus", "2")));
  EXPECT_EQ(bundle.hosts[1].name, "n1") << "named by a rank only";
  ASSERT_EQ(bundle.ranks.size(), 2U);
  EXPECT_EQ(bundle.ranks[0].rank.rank, 0);
  EXPECT_EQ(bundle.ranks[0].rank.gpu, 3);
  EXPECT_EQ(bundle.ranks[0].rank.pid, 4711);
  EXPECT_EQ(bundle.ranks[0].trace.path, "sub/r0.json.gz");
  EXPECT_EQ(bundle.ranks[0].trace.key, "ranks[1].trace");
  EXPECT_EQ(bundle.ranks[1].rank.rank, 2);
  EXPECT_EQ(bundle.ranks[1].rank.gpu, -1);
  EXPECT_THAT(bundle.ranks[1].rank.labels, ElementsAre(Pair("torch", "2.9")));
  ASSERT_EQ(bundle.samples.size(), 2U);
  EXPECT_EQ(bundle.samples[0].path, "samples.json.gz");
  EXPECT_EQ(bundle.samples[1].key, "hosts[0].samples");
  ASSERT_EQ(bundle.groups.size(), 1U);
  EXPECT_THAT(bundle.groups[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(bundle.groups[0].size, 2);
  EXPECT_THAT(bundle.problems, IsEmpty());
}

TEST(BundleDocument, LittleIsRequired) {
  const BundleDocument bundle = parsed(with(R"("ranks": [{"rank": 1}, {"rank": 0.0, "trace": null}])"));
  EXPECT_EQ(bundle.world_size, -1);
  EXPECT_FALSE(bundle.window);
  ASSERT_EQ(bundle.ranks.size(), 2U);
  EXPECT_EQ(bundle.ranks[0].trace.path, "");
  EXPECT_EQ(parsed(with(R"("job": {"id": 123456}, "ranks": [])")).job_id, "123456") << "SLURM's";
}

TEST(BundleDocument, NestedLabelsStandUnderTheirOwnKeys) {
  const BundleDocument bundle =
      parsed(with(R"("ranks": [{"rank": 0, "labels": {"env": {"NCCL_IB_HCA": "mlx5", "deep": {"b": [1], "a": null}},
                                    "empty": {}, "list": [{"x": 1}], "env.NCCL_IB_HCA": "later"}}])"));
  EXPECT_THAT(bundle.ranks.at(0).rank.labels,
              ElementsAre(Pair("env.NCCL_IB_HCA", "mlx5"), Pair("env.deep", R"({"a":null,"b":[1]})"),
                          Pair("list", R"([{"x":1}])")));
}

TEST(BundleDocument, AWrongTypeNamesItsKey) {
  const struct {
    std::string members;
    std::string message;
  } cases[] = {
      {R"("ranks": [{"rank":0},{"rank":1},{"rank":"two"}])",
       R"(bundle.json: ranks[2].rank: expected a whole number, found a string ("two"))"},
      {R"("ranks": [{"rank": 0.5}])", "ranks[0].rank: expected a whole number, found the number 0.5"},
      {R"("ranks": [{"rank": -1}])", "ranks[0].rank: expected a number from 0 to 9999999, found the number -1"},
      {R"("ranks": [{"rank": 18446744073709551615}])", "ranks[0].rank: expected a whole number"},
      {R"("ranks": [{"rank": 1e300}])", "ranks[0].rank: expected a whole number"},
      {R"("ranks": [{}])", "ranks[0].rank: missing"},
      {R"("ranks": [7])", "ranks[0]: expected an object, found the number 7"},
      {R"("ranks": {})", "ranks: expected an array, found an object"},
      {R"("job": {})", "ranks: missing"},
      {R"("job": [], "ranks": [])", "job: expected an object, found an array"},
      {R"("job": {"id": true}, "ranks": [])", "job.id: expected a string, found true"},
      {R"("job": {"world_size": 0}, "ranks": [])", "job.world_size: expected a number from 1 to"},
      {R"("ranks": [{"rank": 0, "host": 3}])", "ranks[0].host: expected a string, found the number 3"},
      {R"("ranks": [{"rank": 0, "gpu": "0"}])", "ranks[0].gpu: expected a whole number"},
      {R"("ranks": [{"rank": 0, "trace": ["a"]}])", "ranks[0].trace: expected a string, found an array"},
      {R"("hosts": [{"name": 1}], "ranks": [])", "hosts[0].name: expected a string"},
      {R"("samples": "a.json", "ranks": [])", R"(samples: expected an array, found a string ("a.json"))"},
      {R"("samples": [1], "ranks": [])", "samples[0]: expected a string"},
      {R"("window": {"start_unix_ns": 1}, "ranks": [])", "window.duration_ms: missing"},
      {R"("window": {"start_unix_ns": 1, "duration_ms": -5}, "ranks": [])", "window.duration_ms: expected more than 0"},
      {R"("window": {"start_unix_ns": 9223372036854775807, "duration_ms": 5}, "ranks": [])",
       "window.duration_ms: expected a window that ends"},
      {R"("groups": [{"ranks": [0, "1"]}], "ranks": [])", "groups[0].ranks[1]: expected a whole number"},
  };
  for (const auto& one : cases) EXPECT_THAT(refused(with(one.members)), HasSubstr(one.message));
}

TEST(BundleDocument, RefusesWhatIsNoBundle) {
  EXPECT_THAT(refused(""), HasSubstr("bundle.json: not valid JSON: parse error at line 1"));
  EXPECT_THAT(refused("{\n  \"schema\": eroica}"), HasSubstr("line 2"));
  EXPECT_THAT(refused("[]"), HasSubstr("the document: expected an object, found an array"));
  EXPECT_THAT(refused("{}"), HasSubstr("schema: missing"));
  EXPECT_THAT(refused(R"({"schema": 1})"), HasSubstr("schema: expected a string"));
  EXPECT_THAT(refused(R"({"schema": "eroica.bundle/2"})", Error::Kind::kUnsupported),
              HasSubstr(R"(schema: expected "eroica.bundle/1", found a string ("eroica.bundle/2"))"));
  EXPECT_THAT(refused(with("\"x\": \"\xff\", \"ranks\": []")), HasSubstr("not valid JSON"));
}

TEST(BundleDocument, SizeAndNestingAreBounded) {
  EXPECT_THAT(refused(std::string(kMaxBundleBytes + 1, ' ')), HasSubstr("larger than the 32 MiB"));
  EXPECT_THAT(refused(std::string(1'000'000, '[')), HasSubstr("nested deeper than 64 levels"));
  const std::string brackets_in_a_string(1000, '[');
  parsed(with(fmt::format(R"("note": "\"{}", "ranks": [])", brackets_in_a_string)));
}

TEST(BundleDocument, ARankThatStandsTwiceIsAmbiguous) {
  const std::string message =
      refused(with(R"("ranks": [{"rank": 1, "trace": "a.json"}, {"rank": 0}, {"rank": 1, "trace": "b.json"}])"),
              Error::Kind::kAmbiguous);
  EXPECT_THAT(message, HasSubstr("rank 1: ranks[0] (a.json) and ranks[2] (b.json)"));
}

TEST(BundleDocument, WhatCanBeDoneWithoutIsAProblem) {
  const BundleDocument bundle = parsed(with(
      R"("job": {"world_size": 2}, "hosts": [{"name": "h"}, {"name": "h", "machine": "m"}],
         "ranks": [{"rank": 7, "labels": "none"}])"));
  EXPECT_EQ(bundle.world_size, 8);
  EXPECT_EQ(bundle.hosts.size(), 1U);
  EXPECT_THAT(bundle.problems, ElementsAre("bundle.json: hosts[1]: passed over: host \"h\" stands at hosts[0] already",
                                           "bundle.json: ranks[0].labels: passed over: expected an object, found a "
                                           "string (\"none\")",
                                           "bundle.json: job.world_size: 2 is too small, since ranks lists rank 7; "
                                           "taken as 8"));
}

TEST(BundleDocument, FilesNeverLeaveTheFolder) {
  for (const std::string path : {"../x.json", "/etc/passwd", "a/../../x.json", "..", "", "a\\u0000b", "./../x"}) {
    const BundleDocument bundle =
        parsed(with(fmt::format(R"("samples": ["{0}"], "ranks": [{{"rank": 0, "trace": "{0}"}}])", path)));
    EXPECT_EQ(bundle.ranks.at(0).trace.path, "") << path;
    EXPECT_THAT(bundle.samples, IsEmpty()) << path;
    ASSERT_EQ(bundle.problems.size(), 2U) << path;
    EXPECT_THAT(bundle.problems[1], HasSubstr("bundle.json: ranks[0].trace: ")) << path;
  }
  const BundleDocument bundle = parsed(with(R"("ranks": [{"rank": 0, "trace": "a/../..b/c.json"}])"));
  EXPECT_EQ(bundle.ranks.at(0).trace.path, "a/../..b/c.json") << "stays inside";
}

TEST(BundleDocument, DamageIsAnErrorOrADocument) {
  const std::string whole = with(
      R"("job": {"id": "j", "world_size": 2}, "window": {"start_unix_ns": 5, "duration_ms": 1.5},
         "hosts": [{"name": "h", "labels": {"a": {"b": 1}}}], "samples": ["s.json"],
         "ranks": [{"rank": 0, "host": "h", "trace": "a.json"}, {"rank": 1}], "groups": [{"ranks": [0, 1]}])");
  EXPECT_TRUE(rc::check("any change of any bytes keeps what a document promises", [&] {
    std::string text = whole;
    const auto changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::inRange<size_t>(0, text.size());
      text[at] = *rc::gen::element('"', '{', '}', '[', ']', '.', '-', '9', '/', '\\', '\0', '\xff', ',');
    }
    if (*rc::gen::arbitrary<bool>()) text.resize(*rc::gen::inRange<size_t>(0, text.size()));
    const Result<BundleDocument> document = parse_bundle(text, "b");
    if (!document.ok()) {
      RC_ASSERT(document.error().message.starts_with("b: "));
      return;
    }
    std::set<int32_t> ranks;
    for (const BundleRank& rank : document->ranks) {
      RC_ASSERT(rank.rank.rank >= 0);
      RC_ASSERT(ranks.insert(rank.rank.rank).second);
      const std::filesystem::path path = rank.trace.path;
      RC_ASSERT(path.is_relative());
      RC_ASSERT(path.empty() || *path.lexically_normal().begin() != "..");
    }
  }));
}

}  // namespace
}  // namespace eroica
