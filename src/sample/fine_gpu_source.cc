#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/clocks.h"
#include "sample/gpu_assignment.h"
#include "sample/gpu_feed.h"
#include "sample/sample_source.h"

namespace eroica {
namespace {

constexpr int64_t kLastReadingNs = 500'000'000;

/// Use of the GPUs that another source found to be the job's.
class FineGpus : public SampleSource {
 public:
  FineGpus(std::shared_ptr<GpuFeed> feed, GpuPlaces& places) : feed_(std::move(feed)), places_(places) {
    feed_->start();
    spent_before_ns_ = feed_->cpu_ns();
  }
  FineGpus(const FineGpus&) = delete;
  FineGpus& operator=(const FineGpus&) = delete;
  ~FineGpus() override { feed_->rest(); }

  void sample(SampleLog& log) override {
    switch (feed_->state()) {
      case GpuFeed::State::kHung:
        problem_ = feed_->hung_call() + " does not come back";
        return;
      case GpuFeed::State::kIdle:
        use_readings(log);
        ask(log);
        return;
      default:
        return;
    }
  }

  void finish(SampleLog& log) override {
    const int64_t until_ns = monotonic_ns() + kLastReadingNs;
    for (const bool ask_again : {true, false}) {
      if (!feed_->wait_idle(until_ns - monotonic_ns())) break;
      use_readings(log);
      if (ask_again) ask(log);
    }
    feed_->rest();
  }

  [[nodiscard]] int64_t spent_elsewhere_ns() const override { return feed_->cpu_ns() - spent_before_ns_; }

  void add_findings(SourceFindings& findings) const override {
    if (!problem_.empty()) findings.missing.push_back(fmt::format("{} ({})", feed_->name(), problem_));
  }

 private:
  void ask(const SampleLog& log) {
    std::vector<size_t> gpus;
    for (size_t i = 0; i < feed_->gpus().size(); ++i) {
      if (places_.entities.contains(bus_key(feed_->gpus()[i].bus_id))) gpus.push_back(i);
    }
    if (gpus.empty() || !feed_->begin(std::move(gpus), {GpuPace::kFast})) return;
    asked_unix_ns_ = log.now_ns();
    asked_ns_ = monotonic_ns();
  }

  void use_readings(SampleLog& log) {
    const int64_t now_ns = log.now_ns();
    const std::vector<GpuReading> readings = feed_->take();
    if (!feed_->problem().empty()) problem_ = feed_->problem();
    if (asked_ns_ == 0) return;  // what an earlier window asked for
    for (const GpuReading& reading : readings) {
      if (!reading.problem.empty()) problem_ = reading.problem;
      const std::string bus = bus_key(feed_->gpus().at(reading.gpu).bus_id);
      const auto entities = places_.entities.find(bus);
      if (entities == places_.entities.end()) continue;
      for (const GpuPoint& point : reading.points) {
        places_.fine_gpus.insert(bus);
        places_.fine_signals.insert(point.signal);
        const GpuSignalName& name = gpu_signal_name(point.signal);
        log.at(std::min(now_ns, asked_unix_ns_ + point.at_ns - asked_ns_));
        for (const std::string& entity : entities->second) log.level(entity, name.metric, name.unit, point.value);
      }
    }
    log.at(now_ns);
  }

  std::shared_ptr<GpuFeed> feed_;
  GpuPlaces& places_;
  int64_t asked_unix_ns_ = 0;
  int64_t asked_ns_ = 0;
  int64_t spent_before_ns_ = 0;
  std::string problem_;
};

}  // namespace

std::unique_ptr<SampleSource> fine_gpu_source(std::shared_ptr<GpuFeed> feed, GpuPlaces& places) {
  return std::make_unique<FineGpus>(std::move(feed), places);
}

}  // namespace eroica
