#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sample/gpu_reading.h"
#include "sample/vendor_library.h"
#include "steps/policy.h"

namespace eroica {

/// The GPUs of one vendor, read one time after the other on a thread of their own. Nothing here waits for the library,
/// but for wait_idle(); when a call hangs the rest of the program goes on without these GPUs, and ends without them.
class GpuFeed {
 public:
  using MakeLibrary = std::function<std::unique_ptr<GpuLibrary>(CallWatch&)>;
  /// Until it must have come back: a call while the library starts, and any later one.
  struct Deadlines {
    int64_t start_ns = 30'000'000'000;
    int64_t call_ns = 2'000'000'000;
  };

  explicit GpuFeed(const MakeLibrary& make) : GpuFeed(make, Deadlines()) {}
  GpuFeed(const MakeLibrary& make, Deadlines deadlines);

  /// Loads the library and finds the GPUs, if that was not done.
  void start();
  /// Begins to read these of the GPUs. False: it is busy, or was not started.
  bool begin(std::vector<size_t> gpus, std::vector<GpuPace> paces);

  /// Nothing is read for a while, as soon as what is going on has ended.
  void rest();

  enum class State : uint8_t {
    kNew,  ///< not started
    kBusy,
    kIdle,  ///< what follows can be asked
    kHung,  ///< a call is over its deadline; busy until it comes back, if ever
  };
  [[nodiscard]] State state() const;
  /// Waits until it is not busy, but not longer than this.
  [[nodiscard]] bool wait_idle(int64_t most_ns) const { return thread_.wait_idle(most_ns); }
  /// The function that is over its deadline. Only when hung.
  [[nodiscard]] std::string hung_call() const;

  // Only when idle:
  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const;
  [[nodiscard]] const std::string& problem() const;  ///< why there are none; empty: this machine has none
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] GpuVendor vendor() const;
  /// What was read since the last time, oldest first.
  std::vector<GpuReading> take();
  /// CPU time that the library took so far.
  [[nodiscard]] int64_t cpu_ns() const;

 private:
  struct Session;
  std::shared_ptr<Session> session_;
  Deadlines deadlines_;
  VendorThread thread_;
  bool started_ = false;
};

struct GpuFeeds {
  std::vector<std::shared_ptr<GpuFeed>> counters;  ///< of each vendor
  std::shared_ptr<GpuFeed> fine;                   ///< use of the chips in fine steps of time; nullptr: not wanted
};

/// Those of all vendors that are known, none of them started.
GpuFeeds gpu_feeds(GpuCounters counters);

}  // namespace eroica
