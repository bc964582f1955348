#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/words.h"
#include "report/diagnosis_text.h"
#include "report/sample_conclusions.h"
#include "report/sample_patterns.h"
#include "report/text_sections.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Document built(const testing::SampleJob& job, const DocumentOptions& options = {}, Conclusion conclusion = {}) {
  return build_document(job.patterns, job.names, options, std::move(conclusion)).value();
}

Document healthy_cpu_job() { return built(testing::cpu_job(), {}, testing::healthy_conclusion(4)); }

/// The part above the profile.
std::string answer_of(const Document& document, const TextOptions& options = {}) {
  return answer(document, false, options);
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

TEST(TextReport, OverviewOfACpuJob) { expect_golden("cpu_job", write_text(healthy_cpu_job(), {})); }

TEST(TextReport, OverviewInPlainAscii) {
  const std::string text = write_text(healthy_cpu_job(), {.style = {.color = false, .utf8 = false}});
  expect_golden("cpu_job_ascii", text);
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

TEST(TextReport, OverviewInColour) {
  const TextOptions colored{.style = {.color = true, .utf8 = true}};
  expect_golden("cpu_job_color", write_text(healthy_cpu_job(), colored));
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
  const std::string healthy = write_text(healthy_cpu_job(), {});
  EXPECT_THAT(healthy,
              StartsWith("Nothing wrong was found · all 4 ranks compared · 5 signals not sampled (listed below)\n"));
  EXPECT_THAT(healthy, HasSubstr("\n\n4 ranks on 4 hosts · 14 steps · median 75.0 ms (p95 "));
  EXPECT_THAT(write_text(built(testing::gpu_job(16), {}, testing::heat_conclusion()), {}),
              StartsWith("1  GPU slowed down by heat — ranks 2-3 on trn-a167 "));
  EXPECT_THAT(write_text(built(testing::cpu_job(), {}, testing::blocked_conclusion()), {}),
              StartsWith("Blocked in all_reduce number 1234 of group dp: ranks 0-2 wait for rank 3\n"));
}

TEST(TextReport, OneClaimWithEvidenceAndHints) {
  expect_golden("claim_heat", write_text(built(testing::gpu_job(16), {}, testing::heat_conclusion()), {}));
}

TEST(TextReport, AnswersOfAllKinds) {
  std::string text;
  const auto add = [&](std::string_view title, const Document& document, const TextOptions& options = {}) {
    text += "== " + std::string(title) + "\n" + answer_of(document, options) + "\n";
  };
  const auto cpu = [](Conclusion conclusion) { return built(testing::cpu_job(), {}, std::move(conclusion)); };
  const TextOptions narrow{.style = {.color = false, .utf8 = false}, .width = 60};
  add("healthy", healthy_cpu_job());
  add("nobody compared", built(testing::cpu_job()));
  add("one rank", built(testing::odd_job()));
  add("two claims", cpu(testing::two_claims()));
  add("two claims, narrow, ASCII", cpu(testing::two_claims()), narrow);
  add("all ranks", cpu(testing::all_ranks()));
  add("blocked", cpu(testing::blocked_conclusion()));
  add("a thousand ranks", cpu(testing::thousand_ranks()));
  add("without steps", built(testing::odd_job(), {}, testing::heat_conclusion()));
  expect_golden("answers", text);
}

TEST(TextReport, AnswersKeepToTheWidthAndShowNothingHostile) {
  for (const size_t width : {60, 80, 100, 200}) {
    for (Conclusion conclusion : {testing::two_claims(), testing::heat_conclusion(), testing::blocked_conclusion(),
                                  testing::thousand_ranks(), testing::all_ranks(), testing::healthy_conclusion(4)}) {
      TextOptions options;
      options.width = width;
      const std::string text = answer_of(built(testing::cpu_job(), {}, std::move(conclusion)), options);
      EXPECT_LE(widest(text), width) << text;
      EXPECT_LE(lines(text), width < 100 ? 60u : 40u) << text;
      EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    }
  }
}

TEST(TextReport, DetailsAreHeadedByOneLineForEachClaim) {
  const Document document = built(testing::cpu_job(), {.function = "augment"}, testing::two_claims());
  const std::string text = write_text(document, {.style = {}, .width = 200});
  EXPECT_THAT(text,
              StartsWith("1  A function takes longer than on the peers — rank 2 on h2 · lost 20 ms of 75 ms a step"));
  EXPECT_THAT(text, Not(HasSubstr("because")));
  EXPECT_THAT(write_text(built(testing::cpu_job(), {.function = "augment"}), {}), StartsWith("4 ranks on 4 hosts"));
}

TEST(Headline, SaysAllInOneLine) {
  EXPECT_EQ(
      headline(testing::heat_conclusion(), 75),
      "GPU slowed down by heat (ranks 2-3 on trn-a167 (host trn-a167/gpu 2, gpu 3)): 10.5 ms of 75 ms a step lost, "
      "96 % sure");
  EXPECT_EQ(headline(testing::two_claims()),
            "A function takes longer than on the peers (rank 2): 20 ms a step lost, 82 % sure; 1 more cause");
  EXPECT_EQ(headline(testing::blocked_conclusion()),
            "Blocked in all_reduce number 1234 of group dp: ranks 0-2 wait for rank 3; A process is stopped (rank 3): "
            "99 % sure");
  EXPECT_EQ(headline(testing::all_ranks(), 75),
            "The host waits for the device in every step (all ranks): 5 ms of 75 ms a step lost, 70 % sure");
  EXPECT_EQ(headline({}), "Nothing wrong was found");
  Conclusion hinted;
  hinted.hints = testing::heat_conclusion().hints;
  EXPECT_EQ(headline(hinted), "Nothing wrong was found; 1 hint");
  const std::string many = headline(testing::thousand_ranks(), 75);
  EXPECT_LE(many.size(), 400u);
  EXPECT_THAT(many, Not(HasSubstr("\x1b")));
}

TEST(Figures, AmountsGoByTheirUnits) {
  EXPECT_EQ(amount_text(0.4123, "share"), "41.2 %");
  EXPECT_EQ(amount_text(0, "fraction"), "0 %");
  EXPECT_EQ(amount_text(1.98e9, "hz"), "1.98 GHz");
  EXPECT_EQ(amount_text(8.1e8, "bytes_per_s"), "810 MB/s");
  EXPECT_EQ(amount_text(999.7e6, "bytes"), "1 GB");
  EXPECT_EQ(amount_text(0.31, "cores"), "0.31 cores");
  EXPECT_EQ(amount_text(1.5, "ratio"), "1.5 times");
  EXPECT_EQ(amount_text(12.5, "per_s"), "12.5 a second");
  EXPECT_EQ(amount_text(-3.25, "ms"), "-3.25 ms");
  EXPECT_EQ(amount_text(0.00012, ""), "0.00012");
  EXPECT_EQ(amount_text(std::numeric_limits<double>::quiet_NaN(), "ms"), "? ms");
  EXPECT_EQ(gpu_time_text(47.04), "47 GPU-s an hour");
  EXPECT_EQ(gpu_time_text(2871), "47.9 GPU-min an hour");
  EXPECT_EQ(gpu_time_text(504'000), "140 GPU-h an hour");
  EXPECT_EQ(gpu_time_text(0), "");
}

TEST(TextReport, OverviewsFitAScreen) {
  for (const testing::SampleJob& job : {testing::cpu_job(), testing::gpu_job(16), testing::odd_job()}) {
    const std::string text = write_text(built(job), {});
    EXPECT_LE(lines(text), 40u);
    EXPECT_LE(widest(text), 100u);
  }
}

TEST(TextReport, ColourChangesNothingButColour) {
  const Document document = built(testing::gpu_job(16), {}, testing::heat_conclusion());
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
