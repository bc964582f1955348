#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "report/sample_patterns.h"
#include "report/text_sections.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Document built(const testing::SampleJob& job, const DocumentOptions& options = {}) {
  return build_document(job.patterns, job.names, options).value();
}

/// Compares with tests/report/golden/NAME.txt; with EROICA_UPDATE_GOLDEN set, rewrites it instead.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(EROICA_SOURCE_DIR "/tests/report/golden/") + name + ".txt";
  if (std::getenv("EROICA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; EROICA_UPDATE_GOLDEN=1 writes it";
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(expected, text) << path << "; EROICA_UPDATE_GOLDEN=1 rewrites it";
}

size_t lines(const std::string& text) { return static_cast<size_t>(std::ranges::count(text, '\n')); }

size_t widest(const std::string& text) {
  size_t most = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    most = std::max(most, display_width(std::string_view(text).substr(start, end - start)));
    start = end + 1;
  }
  return most;
}

TEST(TextReport, OverviewOfACpuJob) { expect_golden("cpu_job", write_text(built(testing::cpu_job()), {})); }

TEST(TextReport, OverviewInPlainAscii) {
  const std::string text = write_text(built(testing::cpu_job()), {.style = {.color = false, .utf8 = false}});
  expect_golden("cpu_job_ascii", text);
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(TextReport, OverviewInColour) {
  const TextOptions colored{.style = {.color = true, .utf8 = true}};
  expect_golden("cpu_job_color", write_text(built(testing::cpu_job()), colored));
}

TEST(TextReport, ManyRanksShowTheSpreadAndTheUnusual) {
  expect_golden("gpu_job_16", write_text(built(testing::gpu_job(16)), {}));
}

TEST(TextReport, OneRankStepByStep) {
  expect_golden("cpu_job_rank_2", write_text(built(testing::cpu_job(), {.ranks = {2}}), {}));
}

TEST(TextReport, AllOfOneFunction) {
  expect_golden("cpu_job_augment", write_text(built(testing::cpu_job(), {.function = "augment"}), {}));
}

TEST(TextReport, OddInputIsToldAndHostileNamesAreTamed) {
  const std::string text = write_text(built(testing::odd_job(), {.notes = {"x.json: not a trace\nat all"}}), {});
  expect_golden("odd_job", text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
}

TEST(TextReport, FirstLineSaysWhatMatters) {
  EXPECT_THAT(write_text(built(testing::cpu_job()), {}),
              StartsWith("4 ranks on 4 hosts · 14 steps · median 75.0 ms (p95 "));
}

TEST(TextReport, OverviewsFitAScreen) {
  for (const testing::SampleJob& job : {testing::cpu_job(), testing::gpu_job(16), testing::odd_job()}) {
    const std::string text = write_text(built(job), {});
    EXPECT_LE(lines(text), 40u);
    EXPECT_LE(widest(text), 100u);
  }
}

TEST(TextReport, ColourChangesNothingButColour) {
  const Document document = built(testing::gpu_job(16));
  std::string colored = write_text(document, {.style = {.color = true, .utf8 = false}});
  const std::string plain = write_text(document, {.style = {.color = false, .utf8 = false}});
  for (size_t at = colored.find('\x1b'); at != std::string::npos; at = colored.find('\x1b')) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  EXPECT_EQ(colored, plain);
}

TEST(Figures, KeepAboutThreeDigits) {
  EXPECT_EQ(duration_text(0.4), "0.4 us");
  EXPECT_EQ(duration_text(812), "812 us");
  EXPECT_EQ(duration_text(51'200), "51.2 ms");
  EXPECT_EQ(duration_text(1'950'000), "1.95 s");
  EXPECT_EQ(bytes_text(7'885'824), "7.9 MB");
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(fixed(0.0001, 1), "-");
  EXPECT_EQ(fixed(-0.04, 1), "-");
  EXPECT_EQ(count_text(2.98), "3");
  EXPECT_EQ(count_text(2.5), "2.5");
}

TEST(TextStyle, CutsByWhatIsSeen) {
  const TextStyle style;
  EXPECT_EQ(style.cut_end("äöüß", 4), "äöüß");
  EXPECT_EQ(style.cut_end("äöüßx", 4), "äöü…");
  EXPECT_EQ(style.cut_front("models/layers/attention.py:12", 10), "…ion.py:12");
}

TEST(TextStyle, BarsAreNeverLongerThanTheirWidth) {
  PerClass ms{};
  ms[0] = 30;
  ms[2] = 31;
  ms[7] = 39;
  const TextStyle style;
  EXPECT_EQ(style.bar(ms, 100, 10), "cccnnn....");
  EXPECT_EQ(style.bar(ms, 200, 10).size(), 5u);
  EXPECT_EQ(style.bar(ms, 50, 10).size(), 10u);
  EXPECT_EQ(style.bar(ms, 0, 10), "");
}

RC_GTEST_PROP(TextStyle, CleanTextIsPrintableAndStaysClean, (const std::string& bytes)) {
  for (const bool utf8 : {false, true}) {
    const TextStyle style{.color = false, .utf8 = utf8};
    const std::string clean = style.clean(bytes);
    RC_ASSERT(style.clean(clean) == clean);
    for (const char c : clean) {
      const auto byte = static_cast<unsigned char>(c);
      RC_ASSERT(byte >= 0x20 && byte != 0x7f && (utf8 || byte < 0x80));
    }
  }
}

}  // namespace
}  // namespace eroica
