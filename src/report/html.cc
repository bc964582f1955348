#include "report/html.h"

#include "report/json.h"
#include "report/report_page.h"

namespace eroica {

std::string script_safe(const std::string& json) {
  // In JSON, `<` stands only inside strings, where it may as well be escaped.
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string write_html(const Document& document) {
  const size_t at = kReportPage.find(kReportPagePlaceholder);
  std::string page(kReportPage.substr(0, at));
  page += script_safe(write_json(document, -1));
  page += kReportPage.substr(at + kReportPagePlaceholder.size());
  return page;
}

}  // namespace eroica
