#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clocks.h"
#include "sample/gpu_assignment.h"
#include "sample/gpu_feed.h"
#include "sample/sample_source.h"

namespace eroica {
namespace {

constexpr int64_t kMediumNs = 100'000'000;
constexpr int64_t kSlowNs = 250'000'000;
constexpr int64_t kLastReadingNs = 500'000'000;
constexpr std::string_view kMpsServer = "nvidia-cuda-mps";

/// The GPUs of one vendor that the job's ranks use.
class Gpus : public SampleSource {
 public:
  Gpus(const SystemFiles& files, const SampledJob& job, const ProcessTree& tree, std::shared_ptr<GpuFeed> feed,
       GpuPlaces& places)
      : job_(job), tree_(tree), feed_(std::move(feed)), places_(places), same_pids_(in_host_pid_namespace(files)) {
    feed_->start();
    spent_before_ns_ = feed_->cpu_ns();
  }

  void sample(SampleLog& log) override {
    switch (feed_->state()) {
      case GpuFeed::State::kHung:
        hung_call_ = feed_->hung_call();
        return;
      case GpuFeed::State::kIdle:
        use_readings(log);
        ask(log, false);
        return;
      default:
        return;
    }
  }

  /// Waits for what is being read, and reads once more.
  void finish(SampleLog& log) override {
    const int64_t until_ns = monotonic_ns() + kLastReadingNs;
    for (const bool ask_again : {true, false}) {
      if (!feed_->wait_idle(until_ns - monotonic_ns())) {
        if (feed_->state() == GpuFeed::State::kHung) hung_call_ = feed_->hung_call();
        return;
      }
      use_readings(log);
      if (ask_again) ask(log, true);
    }
  }

  [[nodiscard]] int64_t spent_elsewhere_ns() const override { return feed_->cpu_ns() - spent_before_ns_; }

  void add_findings(SourceFindings& findings) const override {
    if (!hung_call_.empty()) {
      findings.missing.push_back(fmt::format("{} ({} does not come back)", feed_->name(), hung_call_));
    }
    findings.gpus.insert(found_.begin(), found_.end());
    if (feed_->state() != GpuFeed::State::kIdle) return;
    if (!feed_->problem().empty()) {
      findings.missing.push_back(fmt::format("{} ({})", feed_->name(), feed_->problem()));
    }
    if (!read_gpus_.empty() && !same_pids_) {
      findings.missing.emplace_back("other processes on GPUs (not in the host's pid namespace)");
    }
  }

 private:
  void ask(const SampleLog& log, bool all) {
    if (feed_->gpus().empty() || (looked_ && read_gpus_.empty())) return;
    const int64_t now_ns = log.now_ns();
    std::vector<GpuPace> paces;
    std::vector<size_t> gpus = read_gpus_;
    if (!looked_) {  // which of them are the job's?
      for (size_t i = 0; i < feed_->gpus().size(); ++i) gpus.push_back(i);
      paces = {GpuPace::kSlow};
    } else {
      paces = {GpuPace::kFast};
      if (all || now_ns >= next_medium_ns_) paces.push_back(GpuPace::kMedium);
      if (all || now_ns >= next_slow_ns_) paces.push_back(GpuPace::kSlow);
    }
    if (!feed_->begin(std::move(gpus), paces)) return;
    asked_unix_ns_ = now_ns;
    asked_ns_ = monotonic_ns();
    if (std::ranges::find(paces, GpuPace::kMedium) != paces.end()) next_medium_ns_ = now_ns + kMediumNs;
    if (std::ranges::find(paces, GpuPace::kSlow) != paces.end()) next_slow_ns_ = now_ns + kSlowNs;
  }

  void use_readings(SampleLog& log) {
    const int64_t now_ns = log.now_ns();
    const std::vector<GpuReading> readings = feed_->take();
    if (asked_ns_ == 0) return;  // what an earlier window asked for
    if (!looked_ && !readings.empty()) {
      looked_ = true;
      assign(readings);
    }
    for (const GpuReading& reading : readings) {
      if (!std::ranges::binary_search(read_gpus_, reading.gpu)) continue;
      // When it was read, on the clock by which it was asked for.
      log.at(std::min(now_ns, asked_unix_ns_ + std::max<int64_t>(0, reading.at_ns - asked_ns_)));
      tell_reading(log, reading);
    }
    log.at(now_ns);
  }

  void assign(const std::vector<GpuReading>& readings) {
    std::vector<OccupiedGpu> gpus;
    for (const GpuIdentity& identity : feed_->gpus()) gpus.push_back({identity, std::nullopt});
    for (const GpuReading& reading : readings) gpus.at(reading.gpu).processes = reading.processes;
    std::set<size_t> used;
    for (const auto& [rank, gpu] : assign_gpus(gpus, feed_->vendor(), job_, same_pids_)) {
      used.insert(gpu);
      found_[rank] = {gpus[gpu].identity.index, gpus[gpu].identity.model};
      places_.bus_of_rank[rank] = gpus[gpu].identity.bus_id;
      const auto found = std::ranges::find(job_.ranks, rank, &SampledRank::rank);
      entities_[gpu].insert(fmt::format("host {}/gpu {}", found->host, feed_->gpus().at(gpu).index));
    }
    read_gpus_.assign(used.begin(), used.end());
    for (const size_t gpu : read_gpus_) {
      places_.entities[bus_key(feed_->gpus().at(gpu).bus_id)] = entities_.at(gpu);
    }
  }

  void tell_reading(SampleLog& log, const GpuReading& reading) {
    const bool is_fine = places_.fine_gpus.contains(bus_key(feed_->gpus().at(reading.gpu).bus_id));
    for (const std::string& entity : entities_.at(reading.gpu)) {
      for (const GpuValue& value : reading.values) {
        const GpuSignalName& name = gpu_signal_name(value.signal);
        if (is_fine && places_.fine_signals.contains(value.signal)) continue;
        if (value.counts) {
          log.growth(entity, name.metric, name.unit, value.counter, value.scale);
        } else {
          log.level(entity, name.metric, name.unit, value.level);
        }
      }
      if (reading.processes && same_pids_) {
        const auto foreign = std::ranges::count_if(
            *reading.processes, [this](const GpuProcess& process) { return is_foreign(process.pid); });
        log.level(entity, "gpu.foreign_processes", "count", static_cast<double>(foreign));
      }
    }
  }

  [[nodiscard]] bool is_foreign(pid_t pid) const {
    const ProcessTree::Process* known = tree_.find(pid);
    return tree_.is_foreign(pid) && (known == nullptr || !known->stat.name.starts_with(kMpsServer));
  }

  const SampledJob& job_;
  const ProcessTree& tree_;
  std::shared_ptr<GpuFeed> feed_;
  GpuPlaces& places_;
  bool same_pids_;
  bool looked_ = false;
  std::map<int32_t, SourceFindings::Gpu> found_;      // of each rank
  std::map<size_t, std::set<std::string>> entities_;  // of each GPU: ranks may call their host differently
  std::vector<size_t> read_gpus_;                     // ascending
  int64_t asked_unix_ns_ = 0;
  int64_t asked_ns_ = 0;
  int64_t next_medium_ns_ = 0;
  int64_t next_slow_ns_ = 0;
  int64_t spent_before_ns_ = 0;
  std::string hung_call_;
};

}  // namespace

std::unique_ptr<SampleSource> gpu_source(const SystemFiles& files, const SampledJob& job, const ProcessTree& tree,
                                         std::shared_ptr<GpuFeed> feed, GpuPlaces& places) {
  return std::make_unique<Gpus>(files, job, tree, std::move(feed), places);
}

}  // namespace eroica
