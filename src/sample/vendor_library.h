#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>

namespace eroica {

/// A library of a GPU's vendor, loaded when it is there. Never unloaded: threads of its own may run on.
class VendorLibrary {
 public:
  /// The first of the names or paths that can be loaded. loaded() tells whether one could.
  VendorLibrary(std::initializer_list<const char*> names);
  explicit VendorLibrary(const std::string& path) : VendorLibrary({path.c_str()}) {}

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
  /// nullptr: this version has none of that name.
  [[nodiscard]] void* symbol(const char* name) const;

 private:
  void* handle_ = nullptr;
};

/// Which of the library's functions is running, and since when: told by the thread that calls, read by another.
class CallWatch {
 public:
  struct Call {
    const char* function = nullptr;  ///< nullptr: none
    int64_t since_ns = 0;            ///< of the monotonic clock
  };
  void begin(const char* function);
  void end() { function_.store(nullptr, std::memory_order_release); }
  [[nodiscard]] Call running() const;

 private:
  std::atomic<const char*> function_ = nullptr;
  std::atomic<int64_t> since_ns_ = 0;
};

/// A function of a vendor's library that is perhaps not there.
template <typename Signature>
class VendorFunction;

template <typename Status, typename... Arguments>
class VendorFunction<Status(Arguments...)> {
 public:
  /// The first of the names that the library has. They must live on: literals.
  VendorFunction(const VendorLibrary& library, CallWatch& watch, std::initializer_list<const char*> names)
      : watch_(&watch) {
    for (const char* name : names) {
      if (pointer_ != nullptr) break;
      name_ = name;
      pointer_ = reinterpret_cast<Pointer>(library.symbol(name));
    }
  }

  explicit operator bool() const { return pointer_ != nullptr; }
  [[nodiscard]] const char* name() const { return name_; }
  /// `absent` where there is no such function.
  Status call(std::type_identity_t<Status> absent, std::type_identity_t<Arguments>... arguments) const {
    if (pointer_ == nullptr) return absent;
    watch_->begin(name_);
    const Status status = pointer_(arguments...);
    watch_->end();
    return status;
  }

 private:
  using Pointer = Status (*)(Arguments...);
  const char* name_ = "";
  Pointer pointer_ = nullptr;
  CallWatch* watch_;
};

/// A thread for work that may never return, since it calls into a vendor's library. Who owns it never waits for such
/// work: when this goes the thread is left behind with all that its work holds, and ends when the work does.
class VendorThread {
 public:
  VendorThread();
  VendorThread(const VendorThread&) = delete;
  VendorThread& operator=(const VendorThread&) = delete;
  ~VendorThread();

  /// Begins `work`, which must own whatever it uses. False: what was begun before has not ended.
  bool begin(std::function<void()> work);
  /// Nothing is being done: what the last work wrote can be read.
  [[nodiscard]] bool idle() const;
  /// Waits until nothing is being done, but not longer than this.
  [[nodiscard]] bool wait_idle(int64_t most_ns) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace eroica
