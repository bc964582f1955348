#include "coordinator/period_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace eroica {
namespace {

constexpr int64_t kWeekNs = int64_t{7} * 86'400 * 1'000'000'000;
constexpr size_t kMostRecurring = 100;

using Verdicts = std::map<int64_t, Feedback>;  // the last of each incident

Verdicts last_verdicts(std::span<const Feedback> feedback) {
  Verdicts last;
  for (const Feedback& one : feedback) {
    const auto [place, fresh] = last.emplace(one.incident, one);
    const auto order = [](const Feedback& of) { return std::tuple(of.unix_ns, of.who, of.verdict); };
    if (!fresh && order(place->second) < order(one)) place->second = one;
  }
  return last;
}

Delays delays(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    const double place = std::ceil(share * static_cast<double>(seconds.size())) - 1;
    return seconds[static_cast<size_t>(std::max(0.0, place))];
  };
  return {seconds.size(), at(0.5), at(0.9)};
}

/// Between two times of an incident, where both are known.
template <typename Begin, typename End>
Delays delays_between(const std::vector<const Incident*>& incidents, Begin begin, End end) {
  std::vector<double> seconds;
  for (const Incident* incident : incidents) {
    const int64_t from_ns = incident->*begin;
    const int64_t to_ns = incident->*end;
    if (from_ns > 0 && to_ns > 0) seconds.push_back(static_cast<double>(std::max<int64_t>(0, to_ns - from_ns)) * 1e-9);
  }
  return delays(std::move(seconds));
}

void judge(const Incident& incident, const Verdicts& verdicts, PeriodReport& report, Precision& week) {
  const auto verdict = verdicts.find(incident.id);
  if (verdict == verdicts.end()) return;
  ++report.judged;
  if (!incident.claims.empty()) ++week.judged;
  switch (verdict->second.verdict) {
    case Verdict::kRight:
      ++report.right;
      if (!incident.claims.empty()) ++week.right;
      return;
    case Verdict::kOtherCause:
      ++report.other_cause;
      return;
    case Verdict::kWrong:
      ++report.false_alarms;
      report.false_alarms_gpu_s += incident.interference_gpu_s;
      return;
  }
}

std::vector<Recurring> recurring_parts(const std::vector<const Incident*>& incidents) {
  std::map<std::pair<std::string, std::string>, Recurring> parts;
  for (const Incident* incident : incidents) {
    std::set<std::tuple<std::string, std::string, std::string>> named;  // kind, name, cause
    for (const ToldClaim& told : incident->claims) {
      for (const std::string& host : told.claim.hosts) named.emplace("host", host, told.claim.cause);
      if (!told.claim.component.empty()) named.emplace("component", told.claim.component, told.claim.cause);
    }
    const Recurring* counted = nullptr;
    for (const auto& [kind, name, cause] : named) {  // those of one part stand together
      Recurring& part = parts[{kind, name}];
      part.kind = kind;
      part.name = name;
      if (counted != &part) ++part.incidents;
      counted = &part;
      ++part.causes[cause];
      part.last_unix_ns = std::max(part.last_unix_ns, incident->detected_unix_ns);
    }
  }
  std::vector<Recurring> often;
  for (auto& [key, part] : parts) {
    if (part.incidents > 1) often.push_back(std::move(part));
  }
  std::ranges::stable_sort(often, std::greater(), &Recurring::incidents);
  if (often.size() > kMostRecurring) often.resize(kMostRecurring);
  return often;
}

}  // namespace

PeriodReport report_period(std::span<const Incident> incidents, std::span<const Feedback> feedback, size_t jobs,
                           int64_t from_unix_ns, int64_t to_unix_ns) {
  PeriodReport report;
  report.from_unix_ns = from_unix_ns;
  report.to_unix_ns = to_unix_ns;
  report.jobs = jobs;
  std::vector<const Incident*> within;
  for (const Incident& incident : incidents) {
    if (incident.detected_unix_ns >= from_unix_ns && incident.detected_unix_ns < to_unix_ns)
      within.push_back(&incident);
  }
  std::ranges::sort(within, {}, &Incident::id);
  const Verdicts verdicts = last_verdicts(feedback);
  std::map<int64_t, Precision> weeks;
  for (const Incident* incident : within) {
    ++report.incidents;
    if (!incident->claims.empty()) ++report.diagnosed;
    if (incident->closed_unix_ns == 0 || incident->closed_unix_ns >= to_unix_ns) ++report.unresolved;
    report.lost_gpu_s += incident->lost_gpu_s;
    report.recovered_gpu_s += incident->recovered_gpu_s;
    report.interference_gpu_s += incident->interference_gpu_s;
    CategoryCount& counted = report.categories[category(*incident)];
    ++counted.incidents;
    counted.lost_gpu_s += incident->lost_gpu_s;
    counted.recovered_gpu_s += incident->recovered_gpu_s;
    const int64_t number = (incident->detected_unix_ns - from_unix_ns) / kWeekNs;
    Precision& week = weeks[number];
    week.from_unix_ns = from_unix_ns + number * kWeekNs;
    ++week.incidents;
    if (!incident->claims.empty()) ++week.diagnosed;
    judge(*incident, verdicts, report, week);
  }
  for (const auto& [number, week] : weeks) report.over_time.push_back(week);
  report.to_detection = delays_between(within, &Incident::onset_unix_ns, &Incident::detected_unix_ns);
  report.to_localisation = delays_between(within, &Incident::onset_unix_ns, &Incident::localised_unix_ns);
  report.to_fix = delays_between(within, &Incident::onset_unix_ns, &Incident::recovered_unix_ns);
  report.to_action = delays_between(within, &Incident::detected_unix_ns, &Incident::acted_unix_ns);
  report.recurring = recurring_parts(within);
  return report;
}

std::string report_csv(const PeriodReport& report) {
  std::string csv = "measure,category,value\n";
  const auto quoted = [](std::string text) {
    std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
    if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) text.insert(0, "'");
    for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, "\"");
    return "\"" + text + "\"";
  };
  const auto row = [&](std::string_view measure, const std::string& name, double value) {
    csv += fmt::format("{},{},{:.12g}\n", measure, name.empty() ? "" : quoted(name), value);
  };
  const auto count = [&](std::string_view measure, size_t value) { row(measure, "", static_cast<double>(value)); };
  count("jobs", report.jobs);
  count("incidents", report.incidents);
  count("diagnosed", report.diagnosed);
  count("unresolved", report.unresolved);
  count("judged", report.judged);
  count("right", report.right);
  count("other_cause", report.other_cause);
  count("false_alarms", report.false_alarms);
  row("false_alarms_gpu_s", "", report.false_alarms_gpu_s);
  row("interference_gpu_s", "", report.interference_gpu_s);
  row("lost_gpu_s", "", report.lost_gpu_s);
  row("recovered_gpu_s", "", report.recovered_gpu_s);
  for (const auto& [name, counted] : report.categories) {
    row("incidents", name, static_cast<double>(counted.incidents));
    row("lost_gpu_s", name, counted.lost_gpu_s);
    row("recovered_gpu_s", name, counted.recovered_gpu_s);
  }
  const auto delay = [&](std::string_view name, const Delays& of) {
    count(fmt::format("{}_known", name), of.count);
    if (of.count == 0) return;
    row(fmt::format("{}_median_s", name), "", of.median_s);
    row(fmt::format("{}_p90_s", name), "", of.p90_s);
  };
  delay("to_detection", report.to_detection);
  delay("to_localisation", report.to_localisation);
  delay("to_fix", report.to_fix);
  delay("to_action", report.to_action);
  for (const Recurring& part : report.recurring) {
    row(fmt::format("recurring_{}", part.kind), part.name, static_cast<double>(part.incidents));
  }
  return csv;
}

}  // namespace eroica
