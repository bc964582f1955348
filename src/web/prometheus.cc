#include "web/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "agent/control_message.h"

namespace eroica {
namespace {

std::string label(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

class Exposition {
 public:
  void family(std::string_view name, std::string_view help, std::string_view type = "gauge") {
    name_ = name;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void value(double value, const std::string& labels = "") {
    text_ += labels.empty() ? fmt::format("{} {}\n", name_, value) : fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

std::string labels_of(const JobRecord& job) {
  return fmt::format("tenant=\"{}\",job=\"{}\"", label(job.tenant), label(job.job));
}

/// One gauge of each job, where `value` is at least `least`.
template <typename Value>
void per_job(Exposition& out, std::span<const JobRecord> jobs, std::string_view name, std::string_view help,
             double least, Value value) {
  out.family(name, help);
  for (const JobRecord& job : jobs) {
    const double figure = value(job);
    if (figure >= least) out.value(figure, labels_of(job));
  }
}

/// The largest of what the job's hosts tell.
template <typename Value>
double most_of(const JobRecord& job, Value value) {
  double most = -1;
  for (const auto& [name, host] : job.hosts) {
    if (!host.left) most = std::max(most, static_cast<double>(value(host.status)));
  }
  return most;
}

}  // namespace

std::string prometheus_text(std::span<const JobRecord> jobs, const PeriodReport& report, const ServiceHealth& health,
                            int64_t now_unix_ns, const LifePolicy& policy) {
  Exposition out;
  std::map<std::string_view, size_t> states;
  for (const JobState state : {JobState::kStarting, JobState::kLearning, JobState::kHealthy, JobState::kSlow,
                               JobState::kBlocked, JobState::kEnded}) {
    states[job_state_name(state)] = 0;
  }
  for (const JobRecord& job : jobs) ++states[job_state_name(job_state(job, now_unix_ns, policy))];
  out.family("eroica_jobs", "Jobs of the last day by state.");
  for (const auto& [state, count] : states) out.value(static_cast<double>(count), fmt::format("state=\"{}\"", state));
  per_job(out, jobs, "eroica_job_ranks", "Ranks that take part.", 0,
          [](const JobRecord& job) { return static_cast<double>(ranks_of(job)); });
  per_job(out, jobs, "eroica_job_step_seconds", "Mean step of late.", 1e-9, [](const JobRecord& job) {
    return most_of(job, [](const JobStatus& status) { return status.step_ms * 1e-3; });
  });
  per_job(out, jobs, "eroica_job_usual_step_seconds", "Usual healthy step.", 1e-9, [](const JobRecord& job) {
    return most_of(job, [](const JobStatus& status) { return status.best_ms * 1e-3; });
  });
  per_job(out, jobs, "eroica_job_coverage_ratio", "Ranks observed over ranks of the job.", 0, [](const JobRecord& job) {
    const double world = most_of(job, [](const JobStatus& status) { return status.world_size; });
    return world > 0 ? static_cast<double>(ranks_of(job)) / world : -1;
  });
  per_job(out, jobs, "eroica_job_interference_seconds", "Training time that the last window cost.", 0,
          [](const JobRecord& job) {
            const double ms = most_of(job, [](const JobStatus& status) { return status.interference_ms; });
            return ms < 0 ? -1 : ms * 1e-3;
          });
  per_job(out, jobs, "eroica_job_incident", "1 while an incident of the job is not closed.", 0,
          [](const JobRecord& job) { return has_open_incident(job) ? 1.0 : 0.0; });
  out.family("eroica_incidents_30d", "Incidents of the last 30 days by category of their cause.");
  for (const auto& [name, counted] : report.categories) {
    out.value(static_cast<double>(counted.incidents), fmt::format("category=\"{}\"", label(name)));
  }
  out.family("eroica_lost_gpu_seconds_30d", "GPU time lost to incidents of the last 30 days.");
  out.value(report.lost_gpu_s);
  out.family("eroica_recovered_gpu_seconds_30d", "GPU time that would have been lost after their recovery.");
  out.value(report.recovered_gpu_s);
  out.family("eroica_interference_gpu_seconds_30d", "GPU time that windows of incidents cost.");
  out.value(report.interference_gpu_s);
  out.family("eroica_yield_ratio_30d", "Incidents with a named cause over all incidents.");
  if (report.incidents > 0) {
    out.value(static_cast<double>(report.diagnosed) / static_cast<double>(report.incidents));
  }
  out.family("eroica_incidents_open", "Incidents that are not closed.");
  out.value(static_cast<double>(health.open_incidents));
  out.family("eroica_observations_total", "Observations taken since the server started.", "counter");
  out.value(static_cast<double>(health.observations));
  out.family("eroica_batches_refused_total", "Batches that could not be written.", "counter");
  out.value(static_cast<double>(health.refused));
  out.family("eroica_deliveries_waiting", "Events that no webhook has taken yet.");
  out.value(static_cast<double>(health.deliveries));
  out.family("eroica_store_bytes", "Size of the store.");
  out.value(static_cast<double>(health.store_bytes));
  out.family("eroica_store_writable", "0 while nothing can be written.");
  out.value(health.problem.empty() ? 1 : 0);
  return std::move(out).text();
}

}  // namespace eroica
