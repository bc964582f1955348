#include "sample/vendor_library.h"

#include <dlfcn.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clocks.h"

namespace eroica {
VendorLibrary::VendorLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (handle_ == nullptr) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
}

void* VendorLibrary::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

void CallWatch::begin(const char* function) {
  since_ns_.store(monotonic_ns(), std::memory_order_relaxed);
  function_.store(function, std::memory_order_release);
}

CallWatch::Call CallWatch::running() const {
  // The time may be that of a later call than the name, which makes a call look younger than it is: harmless.
  const char* function = function_.load(std::memory_order_acquire);
  return {function, since_ns_.load(std::memory_order_relaxed)};
}

struct VendorThread::Shared {
  std::mutex mutex;
  std::condition_variable changes;
  std::function<void()> work;
  bool busy = false;
  bool ends = false;
};

VendorThread::VendorThread() : shared_(std::make_shared<Shared>()) {
  // Signals are for the threads that wait for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_] {
    std::unique_lock lock(shared->mutex);
    while (true) {
      shared->changes.wait(lock, [&] { return shared->busy || shared->ends; });
      if (!shared->busy) return;
      std::function<void()> work = std::exchange(shared->work, nullptr);
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
      shared->busy = false;
      shared->changes.notify_all();
    }
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

VendorThread::~VendorThread() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ends = true;
  shared_->changes.notify_all();
}

bool VendorThread::begin(std::function<void()> work) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->busy) return false;
  shared_->work = std::move(work);
  shared_->busy = true;
  shared_->changes.notify_all();
  return true;
}

bool VendorThread::idle() const {
  const std::lock_guard lock(shared_->mutex);
  return !shared_->busy;
}

bool VendorThread::wait_idle(int64_t most_ns) const {
  std::unique_lock lock(shared_->mutex);
  return shared_->changes.wait_for(lock, std::chrono::nanoseconds(most_ns), [this] { return !shared_->busy; });
}

}  // namespace eroica
