#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <string>

#include "recorder.h"

namespace eroica::nccl {

/// Waits, on a thread of its own, for the agent to ask for windows, and switches NCCL's events on and off.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Makes the ring and the socket in the job's folder, once; false: there is no folder, or no place in it. Then there
  /// is no recorder, nor its memory.
  bool open();
  /// nullptr: not opened. It stays for ever.
  [[nodiscard]] Recorder* recorder() const { return recorder_.load(std::memory_order_acquire); }
  /// NCCL's word that says which events it tells. Of each copy of NCCL one, counted.
  void watch(int* mask);
  void forget(const int* mask);
  /// Removes its files, in the process that made them.
  void close();

 private:
  void remove_files() const;

  static constexpr size_t kMostMasks = 8;
  struct Watched {
    int* mask = nullptr;
    int uses = 0;
  };

  bool open_in(const std::string& folder);
  bool make_ring(const std::string& path, int64_t rank);
  bool make_socket(const std::string& path);
  static void* run(void* self);
  void listen();
  void set_masks(int value);

  std::atomic<Recorder*> recorder_ = nullptr;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::array<Watched, kMostMasks> masks_;
  int mask_now_ = 0;
  bool tried_ = false;
  bool is_open_ = false;
  int socket_ = -1;
  pid_t owner_ = -1;
  std::string socket_path_;
  std::string ring_path_;
};

}  // namespace eroica::nccl
