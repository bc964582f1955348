#pragma once

#include <cstddef>
#include <cstdint>

namespace eroica::cupti {

// What is used of CUPTI's and the CUDA driver's binary interfaces, as NVIDIA documents them, declared here since users'
// machines have the libraries but no headers. `size` tells the library how much of a structure its caller knows.

using Status = int;
inline constexpr Status kSuccess = 0;
inline constexpr Status kNoFunction = -1;
inline constexpr Status kNoRights = 35;   ///< profiling is for administrators here
inline constexpr int kForPmSampling = 1;  ///< CUpti_ProfilerType
inline constexpr int kEveryNs = 1;        ///< CUpti_PmSampling_TriggerMode
inline constexpr int kKeepLatest = 1;     ///< CUpti_PmSampling_HardwareBuffer_AppendMode

struct ProfilerInitialize {
  size_t size = sizeof(ProfilerInitialize);
  void* reserved = nullptr;
};

struct ChipName {
  size_t size = sizeof(ChipName);
  void* reserved = nullptr;
  size_t device = 0;
  const char* name = nullptr;
};

struct CounterAvailability {
  size_t size = sizeof(CounterAvailability);
  void* reserved = nullptr;
  size_t device = 0;
  size_t image_size = 0;
  uint8_t* image = nullptr;
};

struct HostInitialize {
  size_t size = offsetof(HostInitialize, host) + sizeof(void*);
  void* reserved = nullptr;
  int profiler = kForPmSampling;
  const char* chip = nullptr;
  const uint8_t* availability = nullptr;
  void* host = nullptr;
};

struct HostDeinitialize {
  size_t size = sizeof(HostDeinitialize);
  void* reserved = nullptr;
  void* host = nullptr;
};

struct AddMetrics {
  size_t size = sizeof(AddMetrics);
  void* reserved = nullptr;
  void* host = nullptr;
  const char** names = nullptr;
  size_t count = 0;
};

struct ConfigSize {
  size_t size = sizeof(ConfigSize);
  void* reserved = nullptr;
  void* host = nullptr;
  size_t bytes = 0;
};

struct ConfigImage {
  size_t size = sizeof(ConfigImage);
  void* reserved = nullptr;
  void* host = nullptr;
  size_t bytes = 0;
  uint8_t* image = nullptr;
};

struct PassCount {
  size_t size = sizeof(PassCount);
  void* reserved = nullptr;
  size_t bytes = 0;
  uint8_t* config = nullptr;
  size_t passes = 0;
};

struct Enable {
  size_t size = sizeof(Enable);
  void* reserved = nullptr;
  size_t device = 0;
  void* sampling = nullptr;
};

/// Of Start, Stop and Disable alike.
struct OfSampling {
  size_t size = sizeof(OfSampling);
  void* reserved = nullptr;
  void* sampling = nullptr;
};

struct SetConfig {
  size_t size = sizeof(SetConfig);
  void* reserved = nullptr;
  void* sampling = nullptr;
  size_t config_bytes = 0;
  const uint8_t* config = nullptr;
  size_t buffer_bytes = 0;
  uint64_t interval = 0;
  int trigger = kEveryNs;
  int append = kKeepLatest;
};

struct CounterDataSize {
  size_t size = sizeof(CounterDataSize);
  void* reserved = nullptr;
  void* sampling = nullptr;
  const char** names = nullptr;
  size_t count = 0;
  uint32_t most_samples = 0;
  size_t bytes = 0;
};

struct CounterDataInitialize {
  size_t size = sizeof(CounterDataInitialize);
  void* reserved = nullptr;
  void* sampling = nullptr;
  size_t bytes = 0;
  uint8_t* image = nullptr;
};

struct Decode {
  size_t size = offsetof(Decode, overflow) + sizeof(uint8_t);
  void* reserved = nullptr;
  void* sampling = nullptr;
  uint8_t* image = nullptr;
  size_t bytes = 0;
  int stopped_for = 0;
  uint8_t overflow = 0;
};

struct CounterDataInfo {
  size_t size = sizeof(CounterDataInfo);
  void* reserved = nullptr;
  const uint8_t* image = nullptr;
  size_t bytes = 0;
  size_t total = 0;
  size_t populated = 0;
  size_t completed = 0;
};

struct SampleInfo {
  size_t size = sizeof(SampleInfo);
  void* reserved = nullptr;
  void* sampling = nullptr;
  const uint8_t* image = nullptr;
  size_t bytes = 0;
  size_t index = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

struct Evaluate {
  size_t size = sizeof(Evaluate);
  void* reserved = nullptr;
  void* host = nullptr;
  const uint8_t* image = nullptr;
  size_t bytes = 0;
  size_t index = 0;
  const char** names = nullptr;
  size_t count = 0;
  double* values = nullptr;
};

}  // namespace eroica::cupti
