#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace eroica {

/// A thread that waits for points in time, and ends early when it is told to. The last member of what its body uses.
class EndingThread {
 public:
  /// A body that throws ends, and nobody else does: what it has gathered until then is what there is.
  explicit EndingThread(std::function<void()> body)
      : thread_([this, body = std::move(body)] {
          try {
            body();
          } catch (const std::exception& failure) {
            failure_ = failure.what();
          }
          ended_ = true;
        }) {}
  EndingThread(const EndingThread&) = delete;
  EndingThread& operator=(const EndingThread&) = delete;
  ~EndingThread() { end(); }

  /// For the body: waits so long. False: it is to end now.
  bool wait(int64_t ns) {
    std::unique_lock lock(mutex_);
    return !ends_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return ending_; });
  }

  /// The body is over.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Once it is: what it threw; empty: nothing.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// Tells the body to end, and waits until it has.
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    ends_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ending_ = false;
  std::string failure_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace eroica
