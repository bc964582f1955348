// Stands in for libcupti.so and libcuda.so.1, which play the same devices. Each sample is a tenth of a millisecond of
// the script; times of the GPU begin at kFirstNs.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "sample/cupti_abi.h"
#include "stand_in/played_devices.h"

namespace {

using namespace eroica::cupti;  // NOLINT(google-build-using-namespace)
using eroica::stand_in::enter;
using eroica::stand_in::script;

constexpr Status kInvalid = 1;
constexpr uint64_t kFirstNs = 7'000'000'000;
constexpr size_t kMostInOnePass = 3;  // metrics

struct Host {
  std::vector<std::string> names;
};

struct Sampling {
  size_t device = 0;
  uint64_t interval_ns = 0;
  uint64_t taken = 0;  // samples that were decoded
  bool runs = false;
};

/// What stands at the beginning of a counter data image.
struct Image {
  uint64_t first = 0;
  uint64_t count = 0;
  size_t device = 0;
  uint32_t most = 0;
};

struct Config {
  uint64_t metrics = 0;
};

std::atomic<int> enabled = 0;

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) {
  if (!eroica::stand_in::start()) return 100;
  return enter("cuInit").value_or(kSuccess);
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(script().devices.size());
  return enter("cuDeviceGetCount").value_or(kSuccess);
}

int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<size_t>(length), "%s",
                script().devices.at(static_cast<size_t>(device)).bus_id.c_str());
  return kSuccess;
}

Status cuptiProfilerInitialize(ProfilerInitialize* /*parameters*/) {
  return enter("cuptiProfilerInitialize").value_or(kSuccess);
}

Status cuptiDeviceGetChipName(ChipName* chip) {
  if (const auto status = enter("cuptiDeviceGetChipName")) return *status;
  chip->name = script().devices.at(chip->device).model.c_str();
  return kSuccess;
}

Status cuptiPmSamplingGetCounterAvailability(CounterAvailability* availability) {
  if (const auto status = enter("cuptiPmSamplingGetCounterAvailability")) return *status;
  if (availability->image == nullptr) availability->image_size = 8;
  return kSuccess;
}

Status cuptiProfilerHostInitialize(HostInitialize* host) {
  if (const auto status = enter("cuptiProfilerHostInitialize")) return *status;
  host->host = new Host;
  return kSuccess;
}

Status cuptiProfilerHostDeinitialize(HostDeinitialize* host) {
  delete static_cast<Host*>(host->host);
  return enter("cuptiProfilerHostDeinitialize").value_or(kSuccess);
}

Status cuptiProfilerHostConfigAddMetrics(AddMetrics* add) {
  if (const auto status = enter("cuptiProfilerHostConfigAddMetrics")) return *status;
  for (size_t i = 0; i < add->count; ++i) {
    const bool known = std::ranges::any_of(script().devices,
                                           [&](const auto& device) { return device.values.contains(add->names[i]); });
    if (!known) return kInvalid;
    static_cast<Host*>(add->host)->names.emplace_back(add->names[i]);
  }
  return kSuccess;
}

Status cuptiProfilerHostGetConfigImageSize(ConfigSize* size) {
  size->bytes = sizeof(Config);
  return enter("cuptiProfilerHostGetConfigImageSize").value_or(kSuccess);
}

Status cuptiProfilerHostGetConfigImage(ConfigImage* image) {
  const Config config{static_cast<Host*>(image->host)->names.size()};
  std::memcpy(image->image, &config, sizeof config);
  return enter("cuptiProfilerHostGetConfigImage").value_or(kSuccess);
}

Status cuptiProfilerHostGetNumOfPasses(PassCount* passes) {
  Config config;
  std::memcpy(&config, passes->config, sizeof config);
  passes->passes = (config.metrics + kMostInOnePass - 1) / kMostInOnePass;
  return enter("cuptiProfilerHostGetNumOfPasses").value_or(kSuccess);
}

Status cuptiPmSamplingEnable(Enable* enable) {
  if (const auto status = enter("cuptiPmSamplingEnable")) return *status;
  enable->sampling = new Sampling{.device = enable->device};
  ++enabled;
  return kSuccess;
}

Status cuptiPmSamplingDisable(OfSampling* of) {
  delete static_cast<Sampling*>(of->sampling);
  --enabled;
  return enter("cuptiPmSamplingDisable").value_or(kSuccess);
}

Status cuptiPmSamplingSetConfig(SetConfig* config) {
  if (const auto status = enter("cuptiPmSamplingSetConfig")) return *status;
  if (config->config_bytes != sizeof(Config) || config->trigger != kEveryNs) return kInvalid;
  static_cast<Sampling*>(config->sampling)->interval_ns = config->interval;
  return kSuccess;
}

Status cuptiPmSamplingGetCounterDataSize(CounterDataSize* size) {
  size->bytes = sizeof(Image) + size->most_samples;
  return enter("cuptiPmSamplingGetCounterDataSize").value_or(kSuccess);
}

Status cuptiPmSamplingCounterDataImageInitialize(CounterDataInitialize* initialize) {
  const Image image{.most = static_cast<uint32_t>(initialize->bytes - sizeof(Image))};
  std::memcpy(initialize->image, &image, sizeof image);
  return enter("cuptiPmSamplingCounterDataImageInitialize").value_or(kSuccess);
}

Status cuptiPmSamplingStart(OfSampling* of) {
  if (const auto status = enter("cuptiPmSamplingStart")) return *status;
  auto* sampling = static_cast<Sampling*>(of->sampling);
  sampling->runs = true;
  sampling->taken = static_cast<uint64_t>(eroica::stand_in::now_s() * 1e9) / sampling->interval_ns;
  return kSuccess;
}

Status cuptiPmSamplingStop(OfSampling* of) {
  static_cast<Sampling*>(of->sampling)->runs = false;
  return enter("cuptiPmSamplingStop").value_or(kSuccess);
}

Status cuptiPmSamplingDecodeData(Decode* decode) {
  if (const auto status = enter("cuptiPmSamplingDecodeData")) return *status;
  auto* sampling = static_cast<Sampling*>(decode->sampling);
  Image image;
  std::memcpy(&image, decode->image, sizeof image);
  const auto now = static_cast<uint64_t>(eroica::stand_in::now_s() * 1e9) / sampling->interval_ns;
  image.first = sampling->taken;
  image.count = sampling->runs ? std::min<uint64_t>(now - std::min(now, sampling->taken), image.most) : 0;
  image.device = sampling->device;
  sampling->taken += image.count;
  std::memcpy(decode->image, &image, sizeof image);
  decode->overflow = eroica::stand_in::value(script().devices.at(image.device), "overflow").has_value() ? 1 : 0;
  return kSuccess;
}

Status cuptiPmSamplingGetCounterDataInfo(CounterDataInfo* info) {
  Image image;
  std::memcpy(&image, info->image, sizeof image);
  info->total = image.most;
  info->populated = info->completed = image.count;
  return enter("cuptiPmSamplingGetCounterDataInfo").value_or(kSuccess);
}

Status cuptiPmSamplingCounterDataGetSampleInfo(SampleInfo* sample) {
  Image image;
  std::memcpy(&image, sample->image, sizeof image);
  if (sample->index >= image.count) return kInvalid;
  sample->start_ns = kFirstNs + (image.first + sample->index) * 100'000;
  sample->end_ns = sample->start_ns + 100'000;
  return enter("cuptiPmSamplingCounterDataGetSampleInfo").value_or(kSuccess);
}

Status cuptiProfilerHostEvaluateToGpuValues(Evaluate* evaluate) {
  if (const auto status = enter("cuptiProfilerHostEvaluateToGpuValues")) return *status;
  Image image;
  std::memcpy(&image, evaluate->image, sizeof image);
  if (evaluate->index >= image.count) return kInvalid;
  const double time_s = static_cast<double>(image.first + evaluate->index) * 1e-4;
  for (size_t i = 0; i < evaluate->count; ++i) {
    evaluate->values[i] =
        eroica::stand_in::value_at(script().devices.at(image.device), evaluate->names[i], time_s).value_or(NAN);
  }
  return kSuccess;
}

/// How many devices are being sampled.
int eroica_stand_in_enabled() { return enabled; }
}
