// Stands in for libdcgm.so with an engine.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sample/dcgm_abi.h"
#include "stand_in/played_devices.h"

namespace {

using namespace eroica::dcgm;  // NOLINT(google-build-using-namespace)
using eroica::stand_in::enter;
using eroica::stand_in::script;

std::map<Handle, std::vector<unsigned short>> groups;
int watched = 0;

}  // namespace

extern "C" {

Status dcgmInit() { return eroica::stand_in::start() ? enter("dcgmInit").value_or(kSuccess) : -3; }

Status dcgmConnect(const char* /*address*/, Handle* engine) {
  *engine = 77;
  return enter("dcgmConnect").value_or(kSuccess);
}

Status dcgmFieldGroupCreate(Handle /*engine*/, int count, const unsigned short* fields, const char* /*name*/,
                            Handle* group) {
  if (const auto status = enter("dcgmFieldGroupCreate")) return *status;
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

Status dcgmGetLatestValues(Handle /*engine*/, Handle /*gpus*/, Handle group, TakeValues take, void* user) {
  if (const auto status = enter("dcgmGetLatestValues")) return *status;
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
    if (take(gpu + 4, values.data(), static_cast<int>(values.size()), user) != 0) break;
  }
  return kSuccess;
}

/// How many groups of fields are being watched.
int eroica_stand_in_enabled() { return watched; }
}
