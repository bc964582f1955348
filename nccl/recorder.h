#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "agent/nccl_ring_format.h"

namespace eroica::nccl {

int64_t clock_ns(clockid_t clock);

/// What begins, as NCCL tells it. Texts may be absent.
struct Event {
  Kind kind{};
  uint8_t channel = 0;
  uint8_t channels = 0;
  uint8_t flags = 0;
  int32_t peer = -1;
  uint64_t sequence = kNoSequence;
  uint64_t count = 0;
  uint64_t device_start_ns = 0;
  const char* function = nullptr;
  const char* datatype = nullptr;
  const char* algorithm = nullptr;
  const char* protocol = nullptr;
  void* parent = nullptr;  ///< a handle, of the collective that a channel or proxy operation is part of
};

/// Takes events of any threads into the ring while a window lasts. All memory is there from the beginning; a handle is
/// a number, so that one that comes late, twice, or after everything has ended is recognised and does nothing. No call
/// waits for another thread.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// `ring`: kRingBytes of memory, filled with zeros, that outlive all calls.
  void use(void* ring, int64_t rank, int64_t pid);

  /// A communicator; nullptr: there are too many, and its events will not know theirs. `name` may be nullptr.
  Communicator* join(uint64_t hash, const char* name, int nodes, int ranks, int rank);
  static void leave(Communicator* communicator);

  /// From now on events are taken; those of earlier windows that still go on are forgotten. Called by one thread, as is
  /// end(). Records' times are those of the monotonic clock and this.
  void begin(int64_t unix_minus_monotonic_ns);
  void end() { recording_.store(false, std::memory_order_release); }
  [[nodiscard]] bool recording() const { return recording_.load(std::memory_order_acquire); }

  /// The handle of no event: whatever is said of it does nothing.
  static void* no_event() { return handle_of(kSlots); }
  /// A handle; nullptr: not taken.
  void* start(const Communicator* communicator, const Event& event);
  /// The device's clock when a channel's kernel ended.
  void device_stop(void* handle, uint64_t device_ns);
  void stop(void* handle);

 private:
  // Of a slot: its generation, and what it is doing.
  enum Doing : uint64_t { kFree = 0, kRuns = 1, kHeld = 2, kDone = 3 };
  static constexpr size_t kSlots = 8192;  // of each pool

  struct Slot {
    std::atomic<uint64_t> state = 0;  // generation and Doing
    std::atomic<uint64_t> epoch = 0;
    Record record;
    uint64_t device_start_ns = 0;
    uint64_t device_stop_ns = 0;
    int64_t start_ns = 0;  // of the monotonic clock
  };
  struct Pool {
    std::array<Slot, kSlots> slots;
    std::atomic<uint64_t> next = 0;
  };

  static void* handle_of(uint64_t number) { return std::bit_cast<void*>(number); }
  Slot* take_slot(size_t pool, void*& handle);
  /// Holds the slot of a handle that is doing one of these; nullptr: it is another's by now, or another thread does not
  /// let go of it, which is counted.
  Slot* hold(void* handle, uint64_t& state, bool also_done);
  void put(const Record& record, uint64_t epoch);
  void count_lost();
  [[nodiscard]] Header* header() const { return static_cast<Header*>(ring_); }

  void* ring_ = nullptr;
  std::atomic<bool> recording_ = false;
  std::atomic<uint64_t> epoch_ = 0;
  std::atomic<int64_t> unix_minus_monotonic_ns_ = 0;
  std::atomic<int> writers_ = 0;
  std::array<Pool, 2> pools_;  // collectives and the like; their parts
};

}  // namespace eroica::nccl
