#include "diagnose/rule_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr size_t kColumns = 100;

std::string amount(double value, std::string_view unit) {
  if (unit == "fraction" || unit == "share") return fmt::format("{:.4g} %", 100 * value);
  if (unit == "per_s") return fmt::format("{:.4g}/s", value);
  if (unit == "bytes_per_s") return fmt::format("{:.4g} bytes/s", value);
  if (unit == "ratio" || unit == "count" || unit == "flag" || unit == "correlation") {
    return fmt::format("{:.4g}", value);
  }
  return fmt::format("{:.4g} {}", value, unit);
}

std::string joined_words(const std::vector<std::string>& parts, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? fmt::format(" {} ", last) : ", ";
    text += parts[i];
  }
  return text;
}

/// Breaks lines at spaces; the first line begins with `first`, the others with as many spaces.
std::string wrapped(std::string_view text, std::string_view first) {
  std::string result(first);
  size_t column = first.size();
  bool begins = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!begins && column + 1 + word.size() > kColumns) {
      result += "\n" + std::string(first.size(), ' ');
      column = first.size();
      begins = true;
    }
    if (!begins) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    begins = false;
  }
  return result + "\n";
}

std::string evidence_list(const Rule& rule, Need need, std::string_view title) {
  std::string text;
  for (const EvidenceRule& evidence : rule.evidence) {
    if (evidence.need != need) continue;
    const KnownFact* fact = find_fact(evidence.fact);
    const std::string_view says =
        evidence.says.empty() && fact != nullptr ? fact->meaning : std::string_view(evidence.says);
    std::string line = fmt::format("{}: {}", says, evidence_in_words(evidence));
    if (need != Need::kRequired && evidence.weight != 1) line += fmt::format(" (weight {:.3g})", evidence.weight);
    text += wrapped(line, "  - ");
  }
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

std::string paragraph(std::string_view title, std::string_view text) {
  return text.empty() ? std::string() : fmt::format("\n{}\n{}", title, wrapped(text, "  "));
}

}  // namespace

std::string evidence_in_words(const EvidenceRule& evidence) {
  const KnownFact* fact = find_fact(evidence.fact);
  const std::string_view unit = fact == nullptr ? std::string_view() : fact->unit;
  std::string text = evidence.fact;
  if (evidence.statistic != Statistic::kMean) {
    text = fmt::format("{} of {}", statistic_name(evidence.statistic), text);
  }
  if (!evidence.entity.empty()) text += fmt::format(" of the {}", evidence.entity);
  if (!evidence.function.empty()) text += fmt::format(" of /{}/", evidence.function);
  const std::string_view plain = evidence.statistic == Statistic::kVariation ? "ratio" : unit;
  const Bounds& bounds = evidence.bounds;
  std::vector<std::string> parts;
  if (bounds.above) parts.push_back("above " + amount(*bounds.above, plain));
  if (bounds.below) parts.push_back("below " + amount(*bounds.below, plain));
  if (bounds.above_peers) parts.push_back(amount(*bounds.above_peers, plain) + " or more above the peers");
  if (bounds.below_peers) parts.push_back(amount(*bounds.below_peers, plain) + " or more below the peers");
  if (bounds.above_peers_ratio)
    parts.push_back(fmt::format("at least {:.4g} times the peers'", *bounds.above_peers_ratio));
  if (bounds.below_peers_ratio)
    parts.push_back(fmt::format("at most {:.4g} times the peers'", *bounds.below_peers_ratio));
  if (bounds.above_baseline_ratio) {
    parts.push_back(fmt::format("at least {:.4g} times that of the healthy window", *bounds.above_baseline_ratio));
  }
  if (bounds.below_baseline_ratio) {
    parts.push_back(fmt::format("at most {:.4g} times that of the healthy window", *bounds.below_baseline_ratio));
  }
  return text + " " + joined_words(parts, "and");
}

std::string subject_in_words(const Rule& rule) {
  const auto found = [&]() -> std::string_view {
    switch (rule.subject) {
      case SubjectBy::kSignal:
        return "the ranks of those entities for which the first signal of its evidence holds";
      case SubjectBy::kTime:
        return "ranks whose own time stands out from their peers'";
      case SubjectBy::kFunction:
        return "ranks on which the functions of its evidence stand out";
      case SubjectBy::kStage:
        return "the longest pipeline stage";
      case SubjectBy::kMoving:
        return "peers of which another one is late in each step";
      case SubjectBy::kLabel:
        return "ranks or hosts whose labels differ from most";
      case SubjectBy::kAll:
        return "the whole job";
      case SubjectBy::kBlocked:
        return "a job that hangs";
    }
    return "";
  }();
  return std::string(found) + (rule.also_all ? ", or all ranks together" : "");
}

std::string rule_in_words(const Rule& rule) {
  std::string text = fmt::format("{}: {}\n", rule.cause, rule.title);
  if (!rule.explain.empty()) text += "\n" + wrapped(rule.explain, "  ");
  text += paragraph("Said of", subject_in_words(rule));
  std::vector<std::string> classes;
  classes.reserve(rule.affects.size());
  for (const TimeClass one : rule.affects) classes.emplace_back(time_class_name(one));
  text += paragraph("Explains time in", joined_words(classes, "and"));
  text += evidence_list(rule, Need::kRequired, "Required, all of it");
  text += evidence_list(rule, Need::kAny, "Required, at least one");
  text += evidence_list(rule, Need::kSupports, "Makes it surer");
  text += evidence_list(rule, Need::kContradicts, "Speaks against it");
  text += paragraph("Loses to", joined_words(rule.yields_to, "and"));
  text += paragraph("What to do", rule.action);
  text +=
      fmt::format("\n  Confidence begins at {:.3g}; less than {:.3g} % of a step is not worth a word. From {}:{}.\n",
                  rule.prior, 100 * rule.least_effect, rule.file, rule.line);
  return text;
}

}  // namespace eroica
