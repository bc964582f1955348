#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eroica::nvml {

// What is used of NVML's binary interface, as NVIDIA documents it, declared here since users' machines have the
// library but no headers.

using Device = void*;
using Sample = void*;
using EventSet = void*;
using Status = int;

inline constexpr Status kSuccess = 0;
inline constexpr Status kInsufficientSize = 7;
inline constexpr Status kNoDriver = 9;
inline constexpr Status kNoFunction = 13;

// Kinds of clocks, of sensors, of PCIe counters, of memory errors.
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;
inline constexpr int kSensorGpu = 0;
inline constexpr int kPcieSent = 0;
inline constexpr int kPcieReceived = 1;
inline constexpr int kCorrected = 0;
inline constexpr int kUncorrected = 1;
inline constexpr int kSinceDriverLoad = 0;
inline constexpr int kPolicyPower = 0;
inline constexpr int kPolicyThermal = 1;
inline constexpr int kPolicySyncBoost = 2;
inline constexpr unsigned kMostLinks = 36;
inline constexpr int kLinkErrorKinds = 4;  ///< replays, recoveries, checksums of flits, of data

// Why the clock is not the highest.
inline constexpr uint64_t kReasonSetting = 0x2;
inline constexpr uint64_t kReasonPowerCap = 0x4;
inline constexpr uint64_t kReasonSyncBoost = 0x10;
inline constexpr uint64_t kReasonSoftThermal = 0x20;
inline constexpr uint64_t kReasonHardThermal = 0x40;
inline constexpr uint64_t kReasonPowerBrake = 0x80;

// Fields of nvmlDeviceGetFieldValues.
inline constexpr unsigned kFieldPowerCapNs = 74;
inline constexpr unsigned kFieldSyncBoostNs = 76;
inline constexpr unsigned kFieldNvlinkSentKib = 138;
inline constexpr unsigned kFieldLinkReplays = 161;
inline constexpr unsigned kFieldLinkRecoveries = 162;
inline constexpr unsigned kFieldLinkChecksums = 163;
inline constexpr unsigned kFieldPowerInstantMw = 186;
inline constexpr unsigned kFieldPcieSentBytes = 197;
inline constexpr unsigned kFieldPcieReceivedBytes = 198;
inline constexpr unsigned kFieldSoftThermalNs = 269;
inline constexpr unsigned kFieldHardThermalNs = 270;
inline constexpr unsigned kFieldPowerBrakeNs = 271;
inline constexpr unsigned kAllLinks = ~0U;

struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long at_us = 0;
  long long latency_us = 0;
  int type = 0;  ///< 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long, 5 int, 6 unsigned short
  Status status = kNoFunction;
  union {
    double real;
    int integer;
    unsigned natural;
    unsigned long long wide;
    long long wide_integer;
    unsigned short small;
  } value{.wide = 0};
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

struct PciInfo {
  std::array<char, 16> legacy_bus_id{};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  std::array<char, 32> bus_id{};
};
static_assert(sizeof(PciInfo) == 68);

struct ViolationTime {
  unsigned long long reference_us = 0;
  unsigned long long violation_ns = 0;
};

inline constexpr unsigned long long kNotTold = ~0ULL;  ///< NVML_VALUE_NOT_AVAILABLE
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_bytes = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);

struct EventData {
  Device device = nullptr;
  unsigned long long type = 0;
  unsigned long long data = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
inline constexpr unsigned long long kEventXid = 0x8;

// GPM: means between two samples, of Hopper and later.
inline constexpr unsigned kGpmSmUse = 2;
inline constexpr unsigned kGpmTensorUse = 5;
inline constexpr unsigned kGpmDramUse = 10;
inline constexpr unsigned kGpmPcieSentMib = 20;
inline constexpr unsigned kGpmPcieReceivedMib = 21;
inline constexpr unsigned kGpmNvlinkSentMib = 61;

struct GpmSupport {
  unsigned version = 1;
  unsigned is_supported = 0;
};

struct GpmMetric {
  unsigned metric = 0;
  Status status = kNoFunction;
  double value = 0;
  std::array<char*, 3> info{};
};
static_assert(sizeof(GpmMetric) == 40);

struct GpmMetrics {
  unsigned version = 1;
  unsigned count = 0;
  Sample first = nullptr;
  Sample second = nullptr;
  std::array<GpmMetric, 333> metrics{};  ///< as many as the newest library knows; older ones know fewer
};

struct Temperature {
  unsigned version = static_cast<unsigned>(sizeof(Temperature)) | (1U << 24);
  int sensor = kSensorGpu;
  int celsius = 0;
};
static_assert(sizeof(Temperature) == 12);

}  // namespace eroica::nvml
