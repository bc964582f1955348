#include "report/report_page.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(ReportPage, HasOnePlaceForTheDocument) {
  const size_t at = kReportPage.find(kReportPagePlaceholder);
  ASSERT_NE(at, std::string_view::npos);
  EXPECT_EQ(kReportPage.find(kReportPagePlaceholder, at + 1), std::string_view::npos);
  EXPECT_TRUE(kReportPage.substr(0, at).ends_with(R"(<script type="application/json" id="document">)"));
  EXPECT_TRUE(kReportPage.substr(at + kReportPagePlaceholder.size()).starts_with("</script>"));
}

TEST(ReportPage, IsWholeAndLoadsNothing) {
  EXPECT_TRUE(kReportPage.starts_with("<!doctype html>"));
  EXPECT_TRUE(kReportPage.ends_with("</html>\n"));
  EXPECT_NE(kReportPage.find("default-src 'none'"), std::string_view::npos);
  for (const std::string_view loading : {"<link", "@import", "<script src", "url(http"}) {
    EXPECT_EQ(kReportPage.find(loading), std::string_view::npos) << loading;
  }
}

}  // namespace
}  // namespace eroica
