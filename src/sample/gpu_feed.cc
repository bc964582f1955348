#include "sample/gpu_feed.h"

#include <atomic>
#include <utility>

#include "base/clocks.h"
#include "sample/cupti_library.h"
#include "sample/dcgm_library.h"
#include "sample/nvml_library.h"
#include "sample/rocm_library.h"

namespace eroica {
namespace {

constexpr int64_t kEndingNs = 2'000'000;

}  // namespace

/// What the thread works on; it may outlive the feed.
struct GpuFeed::Session {
  CallWatch watch;
  std::unique_ptr<GpuLibrary> library;
  std::vector<GpuIdentity> gpus;
  std::string problem;
  std::vector<GpuReading> readings;
  std::atomic<bool> is_up = false;
  std::atomic<bool> rests = false;
  std::atomic<int64_t> cpu_ns = 0;
};

GpuFeed::GpuFeed(const MakeLibrary& make, Deadlines deadlines)
    : session_(std::make_shared<Session>()), deadlines_(deadlines) {
  session_->library = make(session_->watch);
}

void GpuFeed::start() {
  if (started_) return;
  started_ = thread_.begin([session = session_] {
    session->gpus = session->library->start(session->problem);
    session->cpu_ns = thread_cpu_ns();
    session->is_up = true;
  });
}

bool GpuFeed::begin(std::vector<size_t> gpus, std::vector<GpuPace> paces) {
  if (!started_) return false;
  return thread_.begin([session = session_, gpus = std::move(gpus), paces = std::move(paces)] {
    for (const size_t gpu : gpus) {
      GpuReading reading;
      reading.gpu = gpu;
      reading.at_ns = monotonic_ns();
      for (const GpuPace pace : paces) session->library->read(pace, reading);
      session->readings.push_back(std::move(reading));
    }
    if (session->rests.exchange(false)) session->library->rest();
    session->cpu_ns = thread_cpu_ns();
  });
}

void GpuFeed::rest() {
  if (!started_) return;
  session_->rests = true;
  const auto work = [session = session_] {
    if (session->is_up && session->rests.exchange(false)) session->library->rest();
  };
  // What goes on sees the word, unless it is just ending.
  if (!thread_.begin(work) && thread_.wait_idle(kEndingNs)) thread_.begin(work);
}

GpuFeed::State GpuFeed::state() const {
  if (!started_) return State::kNew;
  if (thread_.idle()) return State::kIdle;
  const CallWatch::Call call = session_->watch.running();
  const int64_t deadline_ns = session_->is_up ? deadlines_.call_ns : deadlines_.start_ns;
  return call.function != nullptr && monotonic_ns() - call.since_ns > deadline_ns ? State::kHung : State::kBusy;
}

std::string GpuFeed::hung_call() const {
  const char* function = session_->watch.running().function;
  return function == nullptr ? "" : function;
}

const std::vector<GpuIdentity>& GpuFeed::gpus() const { return session_->gpus; }
const std::string& GpuFeed::problem() const { return session_->problem; }
std::string_view GpuFeed::name() const { return session_->library->name(); }
GpuVendor GpuFeed::vendor() const { return session_->library->vendor(); }
std::vector<GpuReading> GpuFeed::take() { return std::exchange(session_->readings, {}); }
int64_t GpuFeed::cpu_ns() const { return session_->cpu_ns; }

GpuFeeds gpu_feeds(GpuCounters counters) {
  GpuFeeds feeds;
  feeds.counters.push_back(std::make_shared<GpuFeed>([](CallWatch& watch) { return nvml_library(watch); }));
  feeds.counters.push_back(std::make_shared<GpuFeed>([](CallWatch& watch) { return rocm_library(watch); }));
  if (counters == GpuCounters::kDcgm) {
    feeds.fine = std::make_shared<GpuFeed>([](CallWatch& watch) { return dcgm_library(watch); });
  }
  if (counters == GpuCounters::kPmSampling) {
    feeds.fine = std::make_shared<GpuFeed>([](CallWatch& watch) { return cupti_library(watch); });
  }
  return feeds;
}

}  // namespace eroica
