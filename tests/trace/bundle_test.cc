#include "trace/bundle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace eroica {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kTrace =
    R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]})";
const std::string kSamples =
    R"({"traceEvents": [{"ph": "C", "cat": "hardware_counters", "name": "cpu.run", "pid": "rank 0", "tid": 0, "ts": 1, "args": {"cores": 1}}]})";

std::string gzipped(const std::string& text) {
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A folder of its own for a test, gone afterwards.
class Discover : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "eroica-discover-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }

  std::string put(const std::string& name, const std::string& content) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << content;
    return path(name);
  }

  /// Paths without the folder of the test, for comparing.
  [[nodiscard]] std::string shown(std::string text) const {
    const std::string prefix = root_.string() + "/";
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }
  [[nodiscard]] std::vector<std::string> shown(std::vector<std::string> texts) const {
    for (std::string& text : texts) text = shown(text);
    return texts;
  }

  [[nodiscard]] std::vector<std::string> traces(const InputSet& inputs) const {
    std::vector<std::string> found;
    for (const RankInput& rank : inputs.ranks) {
      found.push_back(fmt::format("{}: {}", rank.rank, shown(rank.trace_path)));
    }
    return found;
  }

  InputSet found(const std::vector<std::string>& paths, const std::string& rank_from = "") const {
    Result<InputSet> inputs = discover(paths, {.rank_from = rank_from});
    if (!inputs.ok()) {
      ADD_FAILURE() << inputs.error().message;
      return {};
    }
    return std::move(*inputs);
  }
  InputSet found() const { return found({root_.string()}); }

  Error refused(const std::vector<std::string>& paths, const std::string& rank_from = "") const {
    const Result<InputSet> inputs = discover(paths, {.rank_from = rank_from});
    if (inputs.ok()) {
      ADD_FAILURE() << "accepted";
      return {};
    }
    return {inputs.error().kind, shown(inputs.error().message)};
  }

  fs::path root_;
};

// ---- folders of traces ----

TEST_F(Discover, ABareFolderGivesItsTracesTwoLevelsDeep) {
  put("b.json", kTrace);
  put("a.pt.trace.json.gz", gzipped(kTrace));
  put("host0/rank_1/trace.json", kTrace);
  put("host0/x.trace", kTrace);
  put("one/two/three/deep.json", kTrace);
  put("notes.txt", kTrace);
  put(".hidden.json", kTrace);
  const InputSet inputs = found();
  EXPECT_THAT(traces(inputs),
              ElementsAre("-1: a.pt.trace.json.gz", "-1: b.json", "-1: host0/rank_1/trace.json", "-1: host0/x.trace"));
  EXPECT_THAT(inputs.problems, IsEmpty());
  EXPECT_FALSE(inputs.window);
}

TEST_F(Discover, ContentTellsWhatAFileIs) {
  put("rank0.json", kTrace);
  put("rank1.json", gzipped(kTrace));  // Kineto names plain files .gz and people rename the others
  put("rank2.json.gz", kTrace);
  put("samples.json.gz", gzipped(kSamples));
  put("node1-counters.json", kSamples);
  put("steps.json", R"({"step_seconds": [[0.1]]})");
  put("truth.json", R"({"healthy": true})");
  put("config.json", "[1, 2, 3]");
  const InputSet inputs = found();
  EXPECT_THAT(traces(inputs), ElementsAre("-1: rank0.json", "-1: rank1.json", "-1: rank2.json.gz"));
  EXPECT_THAT(shown(inputs.sample_paths), ElementsAre("node1-counters.json", "samples.json.gz"));
  EXPECT_THAT(inputs.problems, IsEmpty()) << "other JSON is nobody's problem";
}

TEST_F(Discover, FilesThatCannotBeUsedAreNamedAndTheOthersStillFound) {
  put("rank0.json", kTrace);
  put("rank1.json", "");
  put("rank2.json.gz", gzipped(kTrace).substr(0, 12));
  put("rank3.json", "this is no JSON");
  put("rank4.xplane.pb", "\x0a\x05");
  put("ops.csv", "dp_rank,stage,rank,step,optype,start_ts,duration\n");
  put("losses.csv", "step,loss\n");
  const InputSet inputs = found();
  EXPECT_THAT(traces(inputs), ElementsAre("-1: rank0.json"));
  EXPECT_THAT(shown(inputs.problems),
              ElementsAre("ops.csv: passed over: an operation timeline (.csv) is read alone, by analyze, and its first "
                          "line must name its columns",
                          "rank1.json: passed over: an empty file",
                          HasSubstr("rank2.json.gz: passed over: it ends before its first event ("),
                          "rank3.json: passed over: no JSON, neither plain nor in gzip or zstd",
                          "rank4.xplane.pb: passed over: XSpace captures (.xplane.pb) cannot be read yet"));
}

TEST_F(Discover, LeftOversOfWritingCountOnlyWhereTheFileIsMissing) {
  put("rank0.json", kTrace);
  put("rank0.json.tmp", kTrace);
  put("rank1.json.tmp", kTrace.substr(0, 60));
  put("notes.tmp", kTrace);
  const InputSet inputs = found();
  EXPECT_THAT(traces(inputs), ElementsAre("-1: rank0.json", "-1: rank1.json.tmp"));
  EXPECT_THAT(shown(inputs.problems),
              ElementsAre("rank0.json.tmp: passed over: left over from writing rank0.json, which is there",
                          "rank1.json.tmp: left over from an unfinished write; what it holds is used"));
}

TEST_F(Discover, AFileReachedTwiceIsReadOnce) {
  const std::string first = put("rank0.json", kTrace);
  fs::create_hard_link(first, path("rank1.json"));
  fs::create_symlink("rank0.json", path("rank2.json"));
  const InputSet inputs = found({root_.string(), first, path("./rank0.json"), root_.string()});
  EXPECT_THAT(traces(inputs), ElementsAre("-1: rank0.json"));
  EXPECT_THAT(shown(inputs.problems), ElementsAre("rank1.json: the same file as rank0.json; read once",
                                                  "rank2.json: the same file as rank0.json; read once"));
}

TEST_F(Discover, LinksThatLoopPipesAndSocketsDoNotHang) {
  put("sub/rank0.json", kTrace);
  fs::create_directory_symlink("..", path("sub/up"));
  fs::create_directory_symlink(".", path("self"));
  fs::create_symlink("loop2.json", path("loop1.json"));
  fs::create_symlink("loop1.json", path("loop2.json"));
  fs::create_symlink("nowhere", path("broken.json"));
  ASSERT_EQ(mkfifo(path("pipe.json").c_str(), 0600), 0);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket.json").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(fd);

  const InputSet inputs = found();
  EXPECT_THAT(traces(inputs), ElementsAre("-1: sub/rank0.json"));
  EXPECT_THAT(shown(inputs.problems),
              ElementsAre(HasSubstr("broken.json: passed over: No such file"),
                          HasSubstr("loop1.json: passed over: Too many levels of symbolic links"),
                          HasSubstr("loop2.json: passed over"), "pipe.json: passed over: neither a file nor a folder",
                          "socket.json: passed over: neither a file nor a folder"));
}

TEST_F(Discover, AHugeFolderIsSearchedInOrderAndItsProblemsAreBounded) {
  for (int i = 0; i < 1000; ++i) put(fmt::format("rank{:04}.json", i), i % 2 == 0 ? kTrace : "");
  const InputSet inputs = found();
  ASSERT_EQ(inputs.ranks.size(), 500U);
  EXPECT_EQ(shown(inputs.ranks[0].trace_path), "rank0000.json");
  EXPECT_EQ(shown(inputs.ranks[499].trace_path), "rank0998.json");
  ASSERT_EQ(inputs.problems.size(), 201U);
  EXPECT_EQ(inputs.problems.back(), "and 300 problems more");
}

TEST_F(Discover, NothingFoundSaysWhereAndForWhat) {
  put("rank1.json", "");
  fs::create_directory(path("empty"));
  Error error = refused({path("empty")});
  EXPECT_EQ(error.kind, Error::Kind::kNotFound);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("nothing to analyse in empty"), HasSubstr("Kineto"), HasSubstr("two levels deep")));
  EXPECT_THAT(refused({path("rank1.json")}).message, HasSubstr("rank1.json: passed over: an empty file"));
  EXPECT_THAT(refused({path("absent")}).message, HasSubstr("absent: No such file or directory"));
  EXPECT_EQ(refused({}).kind, Error::Kind::kNotFound);
  put("samples/samples.json", kSamples);
  EXPECT_THAT(refused({path("samples")}).message,
              HasSubstr("samples/samples.json: only samples; they need traces beside them"));
}

TEST_F(Discover, OneTracePlainAndCompressedIsAmbiguous) {
  put("rank0.json", kTrace);
  put("rank0.json.gz", gzipped(kTrace));
  put("samples.json", kSamples);
  put("samples.json.gz", gzipped(kSamples));
  const Error error = refused({root_.string()});
  EXPECT_EQ(error.kind, Error::Kind::kAmbiguous);
  EXPECT_THAT(error.message, HasSubstr("one trace, plain and compressed: rank0.json and rank0.json.gz"));
  fs::remove(path("rank0.json.gz"));
  const InputSet inputs = found();
  EXPECT_THAT(shown(inputs.sample_paths), ElementsAre("samples.json"));
}

// ---- named files ----

TEST_F(Discover, NamedFilesMayHaveAnyName) {
  const std::string trace = put("profile.txt", kTrace);
  const std::string samples = put("counters", kSamples);
  const InputSet inputs = found({trace, samples});
  EXPECT_THAT(traces(inputs), ElementsAre("-1: profile.txt"));
  EXPECT_THAT(shown(inputs.sample_paths), ElementsAre("counters"));
}

TEST_F(Discover, ANamedFileThatIsNoTraceIsAProblem) {
  const std::string trace = put("rank0.json", kTrace);
  const InputSet inputs =
      found({put("truth.json", "{}"), put("t.csv", "a,b"), put("t.xplane.pb.gz", ""), path("gone"), trace});
  EXPECT_THAT(traces(inputs), ElementsAre("-1: rank0.json"));
  EXPECT_THAT(shown(inputs.problems),
              ElementsAre("truth.json: passed over: JSON, but without traceEvents",
                          HasSubstr("t.csv: passed over: an operation timeline"),
                          HasSubstr("t.xplane.pb.gz: passed over: XSpace captures"), HasSubstr("gone: No such file")));
}

TEST_F(Discover, PatternFilesAreToldByContent) {
  const std::string pattern = std::string("EROICAP1") + "rest";
  put("patterns/rank0.eroica", pattern);
  put("patterns/names.eroica", pattern);
  put("patterns/notes.eroica", "something else");
  const InputSet inputs = found({path("patterns")});
  EXPECT_THAT(shown(inputs.pattern_paths), ElementsAre("patterns/names.eroica", "patterns/rank0.eroica"));
  EXPECT_THAT(inputs.ranks, IsEmpty());
  EXPECT_THAT(shown(inputs.problems), ElementsAre(HasSubstr("patterns/notes.eroica: passed over: no JSON")));
}

TEST_F(Discover, PatternsBesideTheirTracesAreNotCountedTwice) {
  const std::string pattern = put("rank0.eroica", "EROICAP1");
  put("names.eroica", "EROICAP1.");
  put("rank0.json", kTrace);
  const InputSet inputs = found();
  EXPECT_THAT(inputs.pattern_paths, IsEmpty());
  EXPECT_THAT(traces(inputs), ElementsAre("-1: rank0.json"));
  EXPECT_THAT(shown(inputs.problems),
              ElementsAre("names.eroica: passed over with 1 more pattern files, since there are traces; "
                          "name pattern files to read them"));
  EXPECT_THAT(shown(found({pattern, path("rank0.json")}).pattern_paths), ElementsAre("rank0.eroica"));
}

// ---- bundles ----

std::string bundle(const std::string& members) { return R"({"schema": "eroica.bundle/1", )" + members + "}"; }

TEST_F(Discover, ABundleSaysWhatBelongsToIt) {
  put("bundle.json", bundle(R"("job": {"id": "j", "world_size": 4},
    "window": {"start_unix_ns": 1000, "duration_ms": 0.5},
    "hosts": [{"name": "h0", "samples": "samples.json"}], "samples": ["samples.json", "gone.json"],
    "ranks": [{"rank": 2, "host": "h0", "trace": "rank2.json"}, {"rank": 0, "trace": "t/rank0.json.gz"},
              {"rank": 1, "trace": "rank1.json"}, {"rank": 3}])"));
  put("rank2.json", kTrace);
  put("t/rank0.json.gz", gzipped(kTrace));
  put("rank3.json.gz", gzipped(kTrace));
  put("samples.json", kSamples);
  for (const std::string& way : {root_.string(), path("bundle.json"), root_.string() + "/"}) {
    const InputSet inputs = found({way});
    EXPECT_EQ(inputs.job_id, "j");
    EXPECT_EQ(inputs.world_size, 4);
    EXPECT_EQ(inputs.window->duration_ns, 500'000);
    EXPECT_THAT(traces(inputs), ElementsAre("0: t/rank0.json.gz", "1: ", "2: rank2.json", "3: "))
        << "rank 1's file is missing, and rank 3 wrote none whatever lies beside it";
    EXPECT_EQ(inputs.ranks[2].rank_source, RankSource::kBundle);
    EXPECT_THAT(shown(inputs.sample_paths), ElementsAre("samples.json"));
    EXPECT_THAT(shown(inputs.problems),
                ElementsAre("bundle.json: ranks[2].trace: rank1.json: No such file or directory",
                            "bundle.json: samples[1]: gone.json: No such file or directory"));
  }
}

TEST_F(Discover, FilesOfABundleMayBeNamedBesideIt) {
  put("bundle.json", bundle(R"("samples": ["samples.json"],
                               "ranks": [{"rank": 5, "trace": "a.json"}, {"rank": 6, "trace": "b.json"}])"));
  put("a.json", kTrace);
  put("b.json", kTrace);
  put("samples.json", kSamples);
  put("truth.json", "{}");
  const InputSet inputs = found(
      {path("a.json"), path("b.json"), path("bundle.json"), path("samples.json"), root_.string(), path("truth.json")});
  EXPECT_THAT(traces(inputs), ElementsAre("5: a.json", "6: b.json"));
  EXPECT_THAT(shown(inputs.sample_paths), ElementsAre("samples.json"));
  EXPECT_THAT(shown(inputs.problems), ElementsAre(HasSubstr("truth.json: passed over")));
}

TEST_F(Discover, ABundleNeverReachesOutOfItsFolder) {
  put("secret.json", kTrace);
  put("b/bundle.json", bundle(fmt::format(
                           R"("ranks": [{{"rank": 0, "trace": "../secret.json"}}, {{"rank": 1, "trace": "{}"}},
                   {{"rank": 2, "trace": "ok.json"}}, {{"rank": 3, "trace": "sub"}}])",
                           path("secret.json"))));
  put("b/ok.json", kTrace);
  fs::create_directory(path("b/sub"));
  const InputSet inputs = found({path("b")});
  EXPECT_THAT(traces(inputs), ElementsAre("0: ", "1: ", "2: b/ok.json", "3: "));
  EXPECT_THAT(shown(inputs.problems),
              ElementsAre(AllOf(HasSubstr("ranks[0].trace"), HasSubstr("leaves the bundle's folder")),
                          AllOf(HasSubstr("ranks[1].trace"), HasSubstr("absolute paths")),
                          AllOf(HasSubstr("ranks[3].trace"), HasSubstr("a folder, not a file"))));
}

TEST_F(Discover, ATraceThatTwoRanksNameIsReadOnce) {
  put("bundle.json", bundle(R"("ranks": [{"rank": 0, "trace": "a.json"}, {"rank": 1, "trace": "./a.json"}])"));
  put("a.json", kTrace);
  const InputSet inputs = found();
  EXPECT_THAT(traces(inputs), ElementsAre("0: a.json", "1: "));
  EXPECT_THAT(shown(inputs.problems), ElementsAre(HasSubstr("ranks[1].trace: ./a.json: passed over: the same file")));
}

TEST_F(Discover, ABundleMayHoldPatternFilesAndUnsupportedOnes) {
  put("bundle.json", bundle(R"("ranks": [{"rank": 0, "trace": "rank0.eroica"}, {"rank": 1, "trace": "r.xplane.pb"}])"));
  put("rank0.eroica", "EROICAP1xyz");
  put("r.xplane.pb", "x");
  const InputSet inputs = found();
  EXPECT_THAT(shown(inputs.pattern_paths), ElementsAre("rank0.eroica"));
  EXPECT_THAT(traces(inputs), ElementsAre("0: ", "1: "));
  EXPECT_THAT(shown(inputs.problems), ElementsAre(HasSubstr("XSpace captures")));
}

TEST_F(Discover, ABrokenBundleIsAnErrorThatNamesFileAndKey) {
  put("rank0.json", kTrace);
  put("bundle.json", bundle(R"("ranks": [{"rank": "two"}])"));
  EXPECT_THAT(refused({root_.string()}).message,
              HasSubstr(R"(bundle.json: ranks[0].rank: expected a whole number, found a string ("two"))"));
  put("bundle.json", bundle(R"("ranks": [{"rank": 0, "trace": "rank0.json"}, {"rank": 0}])"));
  EXPECT_EQ(refused({root_.string()}).kind, Error::Kind::kAmbiguous);
  put("bundle.json", bundle(R"("ranks": [{"rank": 0}])"));
  EXPECT_EQ(refused({root_.string()}).kind, Error::Kind::kNotFound) << "no trace and no samples";
}

TEST_F(Discover, OneBundleAtATime) {
  put("a/bundle.json", bundle(R"("job": {"id": "a"}, "ranks": [{"rank": 0, "trace": "r.json"}])"));
  put("a/r.json", kTrace);
  EXPECT_EQ(found().job_id, "a") << "a folder around one bundle stands for it";
  EXPECT_EQ(found({path("a"), path("a/bundle.json"), root_.string()}).job_id, "a");

  put("b/bundle.json", bundle(R"("job": {"id": "b"}, "ranks": [{"rank": 0, "trace": "r.json"}])"));
  put("b/r.json", kTrace);
  for (const Error& error : {refused({root_.string()}), refused({path("a"), path("b")})}) {
    EXPECT_EQ(error.kind, Error::Kind::kAmbiguous);
    EXPECT_THAT(error.message, AllOf(HasSubstr("a/bundle.json"), HasSubstr("b/bundle.json")));
  }
  fs::remove_all(path("b"));
  put("loose.json", kTrace);
  EXPECT_THAT(refused({root_.string()}).message, HasSubstr("a bundle and traces outside of it"));
}

// ---- ranks ----

TEST_F(Discover, RankFromGivesRanksInOrder) {
  put("node1/gpu0.json", kTrace);
  put("node0/gpu7.json", kTrace);
  put("other.json", kTrace);
  const InputSet inputs = found({root_.string()}, R"(gpu(\d+)\.json)");
  EXPECT_THAT(traces(inputs), ElementsAre("0: node1/gpu0.json", "7: node0/gpu7.json", "-1: other.json"));
  EXPECT_EQ(inputs.ranks[0].rank_source, RankSource::kRankFrom);
  EXPECT_THAT(shown(inputs.problems), ElementsAre("other.json: --rank-from is not found in this path"));
}

TEST_F(Discover, RankFromErrors) {
  put("node1/gpu0.json", kTrace);
  put("node2/gpu0.json", kTrace);
  Error error = refused({root_.string()}, R"(gpu(\d+))");
  EXPECT_EQ(error.kind, Error::Kind::kAmbiguous);
  EXPECT_THAT(error.message, HasSubstr("rank 0: node1/gpu0.json and node2/gpu0.json"));
  EXPECT_THAT(refused({root_.string()}, R"(rank(\d+))").message,
              HasSubstr("--rank-from is not found in any of the 2 paths, such as node1/gpu0.json"));
  EXPECT_THAT(refused({root_.string()}, "(").message, HasSubstr("not a regular expression"));
  EXPECT_THAT(refused({root_.string()}, "(gpu)").message, HasSubstr("captures \"gpu\""));
}

TEST_F(Discover, TheSamePathsGiveTheSameAnswer) {
  for (const int i : {3, 1, 2, 0}) put(fmt::format("n{}/rank{}.json", i % 2, i), kTrace);
  put("bad.json", "x");
  const InputSet once = found();
  const InputSet again = found();
  EXPECT_EQ(traces(once), traces(again));
  EXPECT_EQ(once.problems, again.problems);
}

// ---- what was recorded ----

TEST(DiscoverShared, EveryIncidentIsABundleOfItsRanks) {
  const char* shared = std::getenv("EROICA_SHARED");
  const fs::path data =
      fs::path(shared != nullptr && *shared != '\0' ? shared : EROICA_SOURCE_DIR "/../shared") / "data";
  if (!fs::exists(data)) GTEST_SKIP() << "no recorded incidents at " << data;
  size_t bundles = 0;
  for (const char* kind : {"incidents", "simulated", "megatron-cpu"}) {
    for (const auto& folder : fs::directory_iterator(data / kind)) {
      Result<InputSet> inputs = discover({folder.path().string()}, {});
      ASSERT_TRUE(inputs.ok()) << inputs.error().message;
      EXPECT_EQ(inputs->ranks.size(), static_cast<size_t>(inputs->world_size)) << folder;
      for (const RankInput& rank : inputs->ranks) EXPECT_TRUE(fs::exists(rank.trace_path));
      EXPECT_THAT(inputs->problems, IsEmpty());
      EXPECT_EQ(inputs->sample_paths.empty(), std::string_view(kind) == "megatron-cpu");
      ++bundles;

      // Without bundle.json the names and contents say the same.
      std::vector<std::string> files;
      for (const auto& file : fs::directory_iterator(folder)) {
        if (file.path().filename() != "bundle.json") files.push_back(file.path().string());
      }
      std::sort(files.begin(), files.end());
      Result<InputSet> bare = discover(files, {});
      ASSERT_TRUE(bare.ok()) << bare.error().message;
      std::vector<RankClaim> claims(bare->ranks.size());
      for (size_t i = 0; i < claims.size(); ++i) claims[i].input = i;
      ASSERT_TRUE(resolve_ranks(*bare, claims).ok());
      ASSERT_EQ(bare->ranks.size(), inputs->ranks.size()) << folder;
      for (size_t i = 0; i < bare->ranks.size(); ++i) {
        EXPECT_EQ(bare->ranks[i].rank, inputs->ranks[i].rank);
        EXPECT_EQ(bare->ranks[i].trace_path, inputs->ranks[i].trace_path);
      }
      EXPECT_EQ(bare->sample_paths, inputs->sample_paths);
    }
  }
  EXPECT_GE(bundles, 17U);
}

}  // namespace
}  // namespace eroica
