#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace eroica::stand_in {

// Devices that stand-ins for vendors' libraries play from a script: the file that EROICA_STAND_IN names, read when
// the library starts. A line each:
//
//   device UUID BUS_ID MODEL…      begins a device; what follows is said of it
//   set KEY T V [T V …]            a value at times in seconds; straight lines between, flat before and after
//   process PID BYTES              computes on the device
//   process_file PATH              the same, of a file of such pairs that is read each time
//   fail FUNCTION STATUS           of all devices
//   hang FUNCTION                  never comes back, until eroica_stand_in_release() is called
//
// What no line sets the device does not support.

struct Device {
  std::string uuid;
  std::string bus_id;
  std::string model;
  std::map<std::string, std::vector<std::pair<double, double>>> values;
  std::vector<std::pair<int, uint64_t>> processes;
  std::string process_file;
};

struct Script {
  std::vector<Device> devices;
  std::map<std::string, int> failing;
  std::vector<std::string> hanging;
  std::chrono::steady_clock::time_point began;
};

/// Reads the script and begins to count time. False: there is none.
bool start();
Script& script();
/// A call of a function: hangs where it is to, and gives the status with which it is to fail.
std::optional<int> enter(const char* function);
/// At this time; absent: not set.
std::optional<double> value(const Device& device, const std::string& key);
std::optional<double> value_at(const Device& device, const std::string& key, double time_s);
/// Since it began.
double now_s();
/// Those that compute on a device now.
std::vector<std::pair<int, uint64_t>> processes(const Device& device);

}  // namespace eroica::stand_in

extern "C" {
/// From now on it is this time, in seconds; a negative one: time passes.
void eroica_stand_in_time(double seconds);
/// What hangs comes back, and nothing hangs any more.
void eroica_stand_in_release();
}
