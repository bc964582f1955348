#include "stand_in/played_devices.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

namespace eroica::stand_in {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWasHung = 999;

struct State {
  // The last one is played. The others stay, since threads that were left behind may still read them.
  std::vector<std::unique_ptr<Script>> scripts;
  std::atomic<Script*> script = scripts.emplace_back(std::make_unique<Script>()).get();
  std::atomic<double> fixed_s = -1;
  std::mutex mutex;
  std::condition_variable released;
  bool is_released = false;
};

State& state() {
  static auto* one = new State;  // threads may hang in it when the program ends
  return *one;
}

void read_line(const std::string& line, Script& into) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  if (what == "device") {
    Device& device = into.devices.emplace_back();
    words >> device.uuid >> device.bus_id;
    std::getline(words >> std::ws, device.model);
  } else if (what == "set" && !into.devices.empty()) {
    std::string key;
    words >> key;
    std::pair<double, double> point;
    while (words >> point.first >> point.second) into.devices.back().values[key].push_back(point);
  } else if (what == "process" && !into.devices.empty()) {
    std::pair<int, uint64_t> process;
    if (words >> process.first >> process.second) into.devices.back().processes.push_back(process);
  } else if (what == "process_file" && !into.devices.empty()) {
    words >> into.devices.back().process_file;
  } else if (what == "fail") {
    std::string function;
    int status = 0;
    if (words >> function >> status) into.failing[function] = status;
  } else if (what == "hang") {
    words >> into.hanging.emplace_back();
  }
}

}  // namespace

double now_s() {
  const double fixed = state().fixed_s;
  return fixed >= 0 ? fixed : std::chrono::duration<double>(Clock::now() - script().began).count();
}

bool start() {
  const char* path = std::getenv("EROICA_STAND_IN");
  std::ifstream file(path == nullptr ? "" : path);
  if (!file) return false;
  auto next = std::make_unique<Script>();
  next->began = Clock::now();
  for (std::string line; std::getline(file, line);) read_line(line, *next);
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.is_released = false;
  now.script = next.get();
  now.scripts.push_back(std::move(next));
  return true;
}

Script& script() { return *state().script; }

std::optional<int> enter(const char* function) {
  State& now = state();
  const Script& played = script();
  if (std::ranges::find(played.hanging, function) != played.hanging.end()) {
    std::unique_lock lock(now.mutex);
    now.released.wait(lock, [&] { return now.is_released; });
    return kWasHung;  // the script may be another's by now
  }
  const auto found = played.failing.find(function);
  return found == played.failing.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> value(const Device& device, const std::string& key) { return value_at(device, key, now_s()); }

std::optional<double> value_at(const Device& device, const std::string& key, double time_s) {
  const auto found = device.values.find(key);
  if (found == device.values.end() || found->second.empty()) return std::nullopt;
  const auto& points = found->second;
  const auto after = std::ranges::find_if(points, [&](const auto& point) { return point.first > time_s; });
  if (after == points.begin()) return after->second;
  const auto before = after - 1;
  if (after == points.end()) return before->second;
  const double part = (time_s - before->first) / (after->first - before->first);
  return before->second + part * (after->second - before->second);
}

std::vector<std::pair<int, uint64_t>> processes(const Device& device) {
  std::vector<std::pair<int, uint64_t>> all = device.processes;
  std::ifstream file(device.process_file);
  std::pair<int, uint64_t> process;
  while (file >> process.first >> process.second) all.push_back(process);
  return all;
}

}  // namespace eroica::stand_in

void eroica_stand_in_time(double seconds) { eroica::stand_in::state().fixed_s = seconds; }

void eroica_stand_in_release() {
  eroica::stand_in::State& now = eroica::stand_in::state();
  const std::lock_guard lock(now.mutex);
  now.is_released = true;
  now.released.notify_all();
}
