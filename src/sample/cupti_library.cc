#include "sample/cupti_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/clocks.h"
#include "sample/cupti_abi.h"
#include "sample/pm_reduction.h"

namespace eroica {
namespace {

using cupti::kNoFunction;
using cupti::kSuccess;
using cupti::Status;

constexpr int kMostGpus = 64;
constexpr uint64_t kIntervalNs = 100'000;
constexpr int64_t kPeriodNs = 10'000'000;
constexpr uint32_t kMostSamples = 2'000;  // that are decoded at once: 0.2 s
constexpr size_t kBufferBytes = 64U << 20;
constexpr int kMostDecodes = 4;       // a reading
constexpr double kMostShare = 0.1;    // of a core, for all GPUs
constexpr uint32_t kMostStride = 64;  // at least one sample in each 10 ms is evaluated

/// What is asked for, the most telling first: those that fit into one pass of the hardware are sampled.
struct Metric {
  const char* name;
  GpuSignal signal;
  double scale;
};
constexpr std::array<Metric, 4> kMetrics = {{
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", GpuSignal::kSmActive, 0.01},
    {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", GpuSignal::kTensorActive, 0.01},
    {"dramc__throughput.avg.pct_of_peak_sustained_elapsed", GpuSignal::kDramActive, 0.01},
    {"nvltx__bytes.sum.per_second", GpuSignal::kNvlinkTransmit, 1},
}};

struct Functions {
  template <typename Parameters>
  using Function = VendorFunction<Status(Parameters*)>;

  Functions(const VendorLibrary& driver, const VendorLibrary& from, CallWatch& watch)
      : driver_init(driver, watch, {"cuInit"}),
        count(driver, watch, {"cuDeviceGetCount"}),
        bus_id(driver, watch, {"cuDeviceGetPCIBusId"}),
        init(from, watch, {"cuptiProfilerInitialize"}),
        chip_name(from, watch, {"cuptiDeviceGetChipName"}),
        availability(from, watch, {"cuptiPmSamplingGetCounterAvailability"}),
        host_init(from, watch, {"cuptiProfilerHostInitialize"}),
        host_end(from, watch, {"cuptiProfilerHostDeinitialize"}),
        add_metrics(from, watch, {"cuptiProfilerHostConfigAddMetrics"}),
        config_size(from, watch, {"cuptiProfilerHostGetConfigImageSize"}),
        config_image(from, watch, {"cuptiProfilerHostGetConfigImage"}),
        passes(from, watch, {"cuptiProfilerHostGetNumOfPasses"}),
        evaluate(from, watch, {"cuptiProfilerHostEvaluateToGpuValues"}),
        enable(from, watch, {"cuptiPmSamplingEnable"}),
        disable(from, watch, {"cuptiPmSamplingDisable"}),
        set_config(from, watch, {"cuptiPmSamplingSetConfig"}),
        data_size(from, watch, {"cuptiPmSamplingGetCounterDataSize"}),
        data_init(from, watch, {"cuptiPmSamplingCounterDataImageInitialize"}),
        start(from, watch, {"cuptiPmSamplingStart"}),
        stop(from, watch, {"cuptiPmSamplingStop"}),
        decode(from, watch, {"cuptiPmSamplingDecodeData"}),
        data_info(from, watch, {"cuptiPmSamplingGetCounterDataInfo"}),
        sample_info(from, watch, {"cuptiPmSamplingCounterDataGetSampleInfo"}) {}

  VendorFunction<Status(unsigned)> driver_init;
  VendorFunction<Status(int*)> count;
  VendorFunction<Status(char*, int, int)> bus_id;
  Function<cupti::ProfilerInitialize> init;
  Function<cupti::ChipName> chip_name;
  Function<cupti::CounterAvailability> availability;
  Function<cupti::HostInitialize> host_init;
  Function<cupti::HostDeinitialize> host_end;
  Function<cupti::AddMetrics> add_metrics;
  Function<cupti::ConfigSize> config_size;
  Function<cupti::ConfigImage> config_image;
  Function<cupti::PassCount> passes;
  Function<cupti::Evaluate> evaluate;
  Function<cupti::Enable> enable;
  Function<cupti::OfSampling> disable;
  Function<cupti::SetConfig> set_config;
  Function<cupti::CounterDataSize> data_size;
  Function<cupti::CounterDataInitialize> data_init;
  Function<cupti::OfSampling> start;
  Function<cupti::OfSampling> stop;
  Function<cupti::Decode> decode;
  Function<cupti::CounterDataInfo> data_info;
  Function<cupti::SampleInfo> sample_info;
};

/// What is missing of a GPU's samples.
struct Losses {
  uint64_t calls = 0;  ///< that failed
  std::string last;    ///< of these, in words
  uint64_t overflows = 0;
};

/// A GPU that is being sampled.
struct Sampled {
  explicit Sampled(size_t most_metrics) : reduction(most_metrics, kPeriodNs), values(most_metrics) {}
  void* host = nullptr;
  void* sampling = nullptr;
  std::vector<Metric> metrics;
  std::vector<const char*> names;
  std::vector<uint8_t> config;
  std::vector<uint8_t> image;
  PmReduction reduction;
  std::vector<double> values;
  // Of the host's monotonic clock over the GPU's, by what reached us soonest.
  int64_t offset_ns = std::numeric_limits<int64_t>::max();
  int64_t told_ns = 0;  // the last point
  Losses losses;
};

class Cupti : public GpuLibrary {
 public:
  Cupti(CallWatch& watch, std::string cupti_path, std::string driver_path)
      : watch_(watch), cupti_path_(std::move(cupti_path)), driver_path_(std::move(driver_path)) {}

  [[nodiscard]] std::string_view name() const override { return "use of NVIDIA GPUs at 10 kHz"; }

  std::vector<GpuIdentity> start(std::string& problem) override {
    watch_.begin("dlopen");
    const VendorLibrary driver = driver_path_.empty() ? VendorLibrary({"libcuda.so.1"}) : VendorLibrary(driver_path_);
    const VendorLibrary library = !driver.loaded() ? VendorLibrary({})
                                  : cupti_path_.empty()
                                      ? VendorLibrary({"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
                                      : VendorLibrary(cupti_path_);
    watch_.end();
    if (!driver.loaded()) return {};
    if (!library.loaded()) {
      problem = "libcupti.so is not found";
      return {};
    }
    functions_.emplace(driver, library, watch_);
    int count = 0;
    if (functions_->driver_init.call(kNoFunction, 0) != kSuccess ||
        functions_->count.call(kNoFunction, &count) != kSuccess) {
      return {};  // no such GPU
    }
    cupti::ProfilerInitialize initialize;
    if (const Status status = functions_->init.call(kNoFunction, &initialize); status != kSuccess) {
      problem = in_words("cuptiProfilerInitialize", status);
      return {};
    }
    std::vector<GpuIdentity> found;
    for (int i = 0; i < std::min(count, kMostGpus); ++i) {
      std::array<char, 32> text{};
      constexpr int kRoom = text.size() - 1;
      GpuIdentity identity{.index = i};
      if (functions_->bus_id.call(kNoFunction, text.data(), kRoom, i) == kSuccess) identity.bus_id = text.data();
      found.push_back(std::move(identity));
    }
    sampled_.resize(found.size());
    return found;
  }

  void read(GpuPace pace, GpuReading& into) override {
    if (pace != GpuPace::kFast) return;
    std::unique_ptr<Sampled>& gpu = sampled_.at(into.gpu);
    if (gpu == nullptr && problem_.empty()) gpu = open(into.gpu);
    into.problem = problem_;
    if (gpu == nullptr || gpu->sampling == nullptr) return;
    const int64_t before_ns = thread_cpu_ns();
    for (int i = 0; i < kMostDecodes && decode(*gpu, into); ++i) {
    }
    spare_time(thread_cpu_ns() - before_ns);
    into.problem = in_words(gpu->losses);
  }

  void rest() override {
    for (std::unique_ptr<Sampled>& gpu : sampled_) {
      if (gpu != nullptr) close(*gpu);
      gpu.reset();
    }
    problem_.clear();
    stride_ = 1;
    began_ns_ = 0;
    spent_ns_ = 0;
  }

 private:
  static std::string in_words(std::string_view function, Status status) {
    if (status == cupti::kNoRights) {
      return "profiling is for administrators here: run the agent as root, or set the driver's option "
             "NVreg_RestrictProfilingToAdminUsers=0";
    }
    return status == kNoFunction ? fmt::format("no {} in this CUPTI", function)
                                 : fmt::format("{} gives {}", function, status);
  }

  static std::string in_words(const Losses& losses) {
    std::string words;
    if (losses.calls > 0) words = fmt::format("{} calls failed, the last one: {}", losses.calls, losses.last);
    if (losses.overflows > 0) {
      words += fmt::format("{}{} times samples were lost, since they were not taken in time", words.empty() ? "" : "; ",
                           losses.overflows);
    }
    return words;
  }

  /// Calls it; false: it is counted.
  template <typename Function, typename Parameters>
  static bool counted(Losses& losses, const Function& function, Parameters& parameters) {
    const Status status = function.call(kNoFunction, &parameters);
    if (status == kSuccess) return true;
    ++losses.calls;
    losses.last = in_words(function.name(), status);
    return false;
  }

  /// Calls it; false: the problem is told.
  template <typename Function, typename Parameters>
  bool done(const Function& function, Parameters& parameters) {
    const Status status = function.call(kNoFunction, &parameters);
    if (status != kSuccess) problem_ = in_words(function.name(), status);
    return status == kSuccess;
  }

  /// A host object for a chip with these metrics, and its configuration where they fit into one pass.
  bool configure(Sampled& gpu, const char* chip, const std::vector<uint8_t>& availability,
                 const std::vector<const char*>& names) {
    cupti::HostInitialize host{.chip = chip, .availability = availability.data()};
    if (!done(functions_->host_init, host)) return false;
    std::vector<const char*> wanted = names;
    cupti::AddMetrics add{.host = host.host, .names = wanted.data(), .count = wanted.size()};
    cupti::ConfigSize size{.host = host.host};
    bool fits = functions_->add_metrics.call(kNoFunction, &add) == kSuccess &&
                functions_->config_size.call(kNoFunction, &size) == kSuccess;
    std::vector<uint8_t> config(fits ? size.bytes : 0);
    cupti::ConfigImage image{.host = host.host, .bytes = config.size(), .image = config.data()};
    cupti::PassCount passes{.bytes = config.size(), .config = config.data()};
    fits = fits && functions_->config_image.call(kNoFunction, &image) == kSuccess &&
           functions_->passes.call(kNoFunction, &passes) == kSuccess && passes.passes == 1;
    void* unused = fits ? std::exchange(gpu.host, host.host) : host.host;
    if (fits) gpu.config = std::move(config);
    if (unused != nullptr) {
      cupti::HostDeinitialize end{.host = unused};
      functions_->host_end.call(kNoFunction, &end);
    }
    return fits;
  }

  std::unique_ptr<Sampled> open(size_t device) {
    cupti::ChipName chip{.device = device};
    cupti::CounterAvailability availability{.device = device};
    if (!done(functions_->chip_name, chip) || !done(functions_->availability, availability)) return nullptr;
    std::vector<uint8_t> available(availability.image_size);
    availability.image = available.data();
    if (!done(functions_->availability, availability)) return nullptr;
    auto gpu = std::make_unique<Sampled>(kMetrics.size());
    for (const Metric& metric : kMetrics) {
      std::vector<const char*> names = gpu->names;
      names.push_back(metric.name);
      if (!configure(*gpu, chip.name, available, names)) continue;
      gpu->names = std::move(names);
      gpu->metrics.push_back(metric);
    }
    if (gpu->names.empty()) {
      if (problem_.empty()) problem_ = "the GPU has none of the metrics";
      return nullptr;
    }
    problem_.clear();
    if (!begin(*gpu, device)) {
      close(*gpu);
      return nullptr;
    }
    return gpu;
  }

  bool begin(Sampled& gpu, size_t device) {
    cupti::Enable enable{.device = device};
    if (!done(functions_->enable, enable)) return false;
    gpu.sampling = enable.sampling;
    cupti::SetConfig config{.sampling = gpu.sampling,
                            .config_bytes = gpu.config.size(),
                            .config = gpu.config.data(),
                            .buffer_bytes = kBufferBytes,
                            .interval = kIntervalNs};
    cupti::CounterDataSize size{
        .sampling = gpu.sampling, .names = gpu.names.data(), .count = gpu.names.size(), .most_samples = kMostSamples};
    if (!done(functions_->set_config, config) || !done(functions_->data_size, size)) return false;
    gpu.image.resize(size.bytes);
    cupti::OfSampling start{.sampling = gpu.sampling};
    return empty(gpu) && done(functions_->start, start);
  }

  bool empty(Sampled& gpu) {
    cupti::CounterDataInitialize initialize{
        .sampling = gpu.sampling, .bytes = gpu.image.size(), .image = gpu.image.data()};
    return done(functions_->data_init, initialize);
  }

  void close(Sampled& gpu) const {
    if (gpu.sampling != nullptr) {
      cupti::OfSampling of{.sampling = gpu.sampling};
      functions_->stop.call(kNoFunction, &of);
      functions_->disable.call(kNoFunction, &of);
    }
    if (gpu.host != nullptr) {
      cupti::HostDeinitialize end{.host = gpu.host};
      functions_->host_end.call(kNoFunction, &end);
    }
    gpu.sampling = gpu.host = nullptr;
  }

  /// Takes what the hardware has gathered. True: there may be more.
  bool decode(Sampled& gpu, GpuReading& into) {
    cupti::Decode decode{.sampling = gpu.sampling, .image = gpu.image.data(), .bytes = gpu.image.size()};
    cupti::CounterDataInfo info{.image = gpu.image.data(), .bytes = gpu.image.size()};
    if (!counted(gpu.losses, functions_->decode, decode)) return false;
    if (decode.overflow != 0) ++gpu.losses.overflows;
    if (!counted(gpu.losses, functions_->data_info, info) || info.completed == 0) return false;
    const int64_t now_ns = monotonic_ns();
    const size_t count = std::min<size_t>(info.completed, kMostSamples);
    if (const auto newest = span_of(gpu, count - 1)) {
      gpu.offset_ns = std::min(gpu.offset_ns, now_ns - newest->second);
      for (size_t i = 0; i < count; i += stride_) take(gpu, i, into);
    }
    return empty(gpu) && count == kMostSamples;
  }

  std::optional<std::pair<int64_t, int64_t>> span_of(Sampled& gpu, size_t index) const {
    cupti::SampleInfo sample{
        .sampling = gpu.sampling, .image = gpu.image.data(), .bytes = gpu.image.size(), .index = index};
    if (!counted(gpu.losses, functions_->sample_info, sample)) return std::nullopt;
    return std::pair(static_cast<int64_t>(sample.start_ns), static_cast<int64_t>(sample.end_ns));
  }

  void take(Sampled& gpu, size_t index, GpuReading& into) const {
    const auto span = span_of(gpu, index);
    cupti::Evaluate evaluate{.host = gpu.host,
                             .image = gpu.image.data(),
                             .bytes = gpu.image.size(),
                             .index = index,
                             .names = gpu.names.data(),
                             .count = gpu.names.size(),
                             .values = gpu.values.data()};
    if (!span || !counted(gpu.losses, functions_->evaluate, evaluate)) return;
    if (gpu.reduction.add(span->first, span->second, std::span(gpu.values).first(gpu.names.size()))) {
      tell(gpu, into);
    }
  }

  /// Two points that have the mean and the deviation of what was between them and the points before.
  static void tell(Sampled& gpu, GpuReading& into) {
    const int64_t middle_ns = gpu.reduction.begin_ns() + (gpu.reduction.end_ns() - gpu.reduction.begin_ns()) / 2;
    const int64_t first_ns = std::max(middle_ns + gpu.offset_ns, gpu.told_ns + 1);
    const int64_t second_ns = std::max(gpu.reduction.end_ns() + gpu.offset_ns, first_ns + 1);
    gpu.told_ns = second_ns;
    for (size_t i = 0; i < gpu.metrics.size(); ++i) {
      const PmAggregate& told = gpu.reduction.aggregates()[i];
      if (told.count == 0) continue;
      const double low = std::max(0.0, told.mean - told.deviation);
      const Metric& metric = gpu.metrics[i];
      into.points.push_back({metric.signal, first_ns, low * metric.scale});
      into.points.push_back({metric.signal, second_ns, (2 * told.mean - low) * metric.scale});
    }
  }

  /// Where looking at all samples takes too much, only every n-th one is looked at.
  void spare_time(int64_t spent_ns) {
    const int64_t now_ns = monotonic_ns();
    if (began_ns_ == 0) began_ns_ = now_ns;
    spent_ns_ += spent_ns;
    const int64_t passed_ns = now_ns - began_ns_;
    if (passed_ns < 100'000'000) return;
    if (static_cast<double>(spent_ns_) > kMostShare * static_cast<double>(passed_ns)) {
      stride_ = std::min(stride_ * 2, kMostStride);
    }
    began_ns_ = now_ns;
    spent_ns_ = 0;
  }

  CallWatch& watch_;
  std::string cupti_path_;
  std::string driver_path_;
  std::optional<Functions> functions_;
  std::vector<std::unique_ptr<Sampled>> sampled_;  // nullptr: not opened
  std::string problem_;
  uint32_t stride_ = 1;
  int64_t began_ns_ = 0;
  int64_t spent_ns_ = 0;
};

}  // namespace

std::unique_ptr<GpuLibrary> cupti_library(CallWatch& watch, std::string cupti, std::string driver) {
  return std::make_unique<Cupti>(watch, std::move(cupti), std::move(driver));
}

}  // namespace eroica
