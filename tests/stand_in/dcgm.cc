// Stands in for libdcgm.so with an engine.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sample/dcgm_abi.h"
#include "stand_in/played_devices.h"

namespace {

using namespace eroica::dcgm;  // NOLINT(google-build-using-namespace)
using eroica::stand_in::enter;
using eroica::stand_in::script;

// A script may have the engine start anew at "restart_s": what it was told before is gone, GPUs have other numbers.
constexpr Status kNotConnected = -21;
constexpr Status kTaken = -26;  // another agent's group has the name without a number
std::map<Handle, std::vector<unsigned short>> groups;
std::atomic<int> watched = 0;
Handle engines = 77;
Handle lost = 0;
bool is_new = false;

bool restarts() {
  if (is_new || script().devices.empty()) return false;
  const std::optional<double> at_s = eroica::stand_in::value(script().devices.back(), "restart_s");
  if (!at_s || eroica::stand_in::now_s() < *at_s) return false;
  is_new = true;
  groups.clear();
  watched = 0;
  return true;
}

}  // namespace

extern "C" {

Status dcgmInit() {
  if (!eroica::stand_in::start()) return -3;
  is_new = false;
  return enter("dcgmInit").value_or(kSuccess);
}

Status dcgmConnect(const char* /*address*/, Handle* engine) {
  (void)restarts();
  *engine = ++engines;
  return enter("dcgmConnect").value_or(kSuccess);
}

Status dcgmDisconnect(Handle /*engine*/) { return enter("dcgmDisconnect").value_or(kSuccess); }

Status dcgmFieldGroupCreate(Handle /*engine*/, int count, const unsigned short* fields, const char* name,
                            Handle* group) {
  if (const auto status = enter("dcgmFieldGroupCreate")) return *status;
  if (std::string_view(name).find(std::to_string(getpid())) == std::string_view::npos) return kTaken;
  *group = groups.size() + 100;
  groups[*group] = {fields, fields + count};
  return kSuccess;
}

Status dcgmFieldGroupDestroy(Handle /*engine*/, Handle group) {
  groups[group].clear();
  return enter("dcgmFieldGroupDestroy").value_or(kSuccess);
}

Status dcgmWatchFields(Handle /*engine*/, Handle /*gpus*/, Handle group, long long /*every_us*/, double /*keep_s*/,
                       int /*keep*/) {
  if (groups[group].front() != kBusId) {
    if (const auto status = enter("dcgmWatchFields")) return *status;
  }
  ++watched;
  return kSuccess;
}

Status dcgmUnwatchFields(Handle /*engine*/, Handle /*gpus*/, Handle /*group*/) {
  --watched;
  return enter("dcgmUnwatchFields").value_or(kSuccess);
}

Status dcgmUpdateAllFields(Handle /*engine*/, int /*wait*/) { return enter("dcgmUpdateAllFields").value_or(kSuccess); }

Status dcgmGetLatestValues(Handle engine, Handle /*gpus*/, Handle group, TakeValues take, void* user) {
  if (const auto status = enter("dcgmGetLatestValues")) return *status;
  if (restarts()) lost = engine;
  if (engine <= lost) return kNotConnected;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (unsigned gpu = 0; gpu < script().devices.size(); ++gpu) {
    const eroica::stand_in::Device& device = script().devices[gpu];
    std::vector<FieldValue> values;
    for (const unsigned short field : groups[group]) {
      FieldValue& one = values.emplace_back();
      one.field = field;
      one.unix_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
      if (field == kBusId) {
        one.type = 's';
        std::snprintf(one.value.text.data(), one.value.text.size(), "%s", device.bus_id.c_str());
        continue;
      }
      const std::optional<double> value = eroica::stand_in::value(device, "dcgm." + std::to_string(field));
      one.type = field == kNvlinkSent ? 'i' : 'd';
      if (field == kNvlinkSent) {
        one.value.integer = value ? std::llround(*value) : 0x7ffffffffffffff0;  // blank
      } else {
        one.value.real = value.value_or(140737488355328.0);  // blank
      }
    }
    const unsigned number = is_new ? 9 - gpu : gpu + 4;
    if (take(number, values.data(), static_cast<int>(values.size()), user) != 0) break;
  }
  return kSuccess;
}

/// How many groups of fields are being watched.
int eroica_stand_in_enabled() { return watched; }
}
