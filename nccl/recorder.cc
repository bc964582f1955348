#include "recorder.h"

#include <sched.h>

#include <cstring>

namespace eroica::nccl {
namespace {

constexpr uint64_t kDoingBits = 2;
constexpr uint64_t kDoingMask = 3;
constexpr int kPoolBit = 15;
constexpr int kGenerationBits = 16;
constexpr int kMostTries = 64;  // for a slot, or for one that another thread holds
constexpr int kMostYields = 10'000;

template <size_t Room>
void copy_text(std::array<char, Room>& into, const char* text) {
  into.fill(0);
  if (text != nullptr) std::memcpy(into.data(), text, strnlen(text, Room));
}

/// "ncclBfloat16" → "Bfloat16"
const char* without_front(const char* datatype) {
  return datatype != nullptr && std::strncmp(datatype, "nccl", 4) == 0 ? datatype + 4 : datatype;
}

}  // namespace

int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void Recorder::use(void* ring, int64_t rank, int64_t pid) {
  ring_ = ring;
  header()->magic = kMagic;
  header()->rank = rank;
  header()->pid = pid;
}

Communicator* Recorder::join(uint64_t hash, const char* name, int nodes, int ranks, int rank) {
  if (ring_ == nullptr) return nullptr;
  auto* all = reinterpret_cast<Communicator*>(static_cast<char*>(ring_) + kCommunicatorsAt);
  for (uint32_t i = 0; i < kMostCommunicators; ++i) {
    int32_t is_closed = 0;
    if (!std::atomic_ref(all[i].is_open).compare_exchange_strong(is_closed, 1)) continue;
    all[i].hash = hash;
    all[i].rank = rank;
    all[i].ranks = ranks;
    all[i].nodes = nodes;
    copy_text(all[i].name, name);
    all[i].name.back() = 0;
    return &all[i];
  }
  return nullptr;
}

void Recorder::leave(Communicator* communicator) {
  if (communicator != nullptr) std::atomic_ref(communicator->is_open).store(0);
}

void Recorder::begin(int64_t unix_minus_monotonic_ns) {
  recording_.store(false);
  // Who writes into the last window's records has nearly done.
  for (int i = 0; writers_.load() != 0; ++i) {
    if (i == kMostYields) return;
    sched_yield();
  }
  const uint64_t epoch = epoch_.load() + 1;
  std::atomic_ref(header()->epoch).store(epoch);
  std::atomic_ref(header()->lost).store(0);
  std::atomic_ref(header()->taken).store(0);
  unix_minus_monotonic_ns_.store(unix_minus_monotonic_ns);
  epoch_.store(epoch);
  recording_.store(true);
}

Recorder::Slot* Recorder::take_slot(size_t pool, void*& handle) {
  Pool& from = pools_[pool];
  const uint64_t epoch = epoch_.load(std::memory_order_relaxed);
  for (int i = 0; i < kMostTries; ++i) {
    const uint64_t index = from.next.fetch_add(1, std::memory_order_relaxed) % kSlots;
    Slot& slot = from.slots[index];
    uint64_t state = slot.state.load(std::memory_order_acquire);
    const uint64_t doing = state & kDoingMask;
    const bool is_left = doing == kRuns && slot.epoch.load(std::memory_order_relaxed) != epoch;  // its end never came
    if (doing != kFree && doing != kDone && !is_left) continue;
    const uint64_t generation = (state >> kDoingBits) + 1;
    if (!slot.state.compare_exchange_strong(state, generation << kDoingBits | kHeld, std::memory_order_acq_rel)) {
      continue;
    }
    slot.epoch.store(epoch, std::memory_order_relaxed);
    handle = handle_of(generation << kGenerationBits | pool << kPoolBit | index);
    return &slot;
  }
  return nullptr;
}

Recorder::Slot* Recorder::hold(void* handle, uint64_t& state, bool also_done) {
  const auto number = reinterpret_cast<uint64_t>(handle);
  const uint64_t index = number & ((1U << kPoolBit) - 1);
  if (number == 0 || index >= kSlots) return nullptr;
  Slot& slot = pools_[(number >> kPoolBit) & 1].slots[index];
  const uint64_t generation = number >> kGenerationBits;
  for (int i = 0; i < kMostTries; ++i) {
    state = slot.state.load(std::memory_order_acquire);
    const uint64_t doing = state & kDoingMask;
    if (state >> kDoingBits != generation || doing == kFree || (doing == kDone && !also_done)) return nullptr;
    if (doing == kHeld) continue;
    if (slot.state.compare_exchange_weak(state, generation << kDoingBits | kHeld, std::memory_order_acq_rel)) {
      return &slot;
    }
  }
  count_lost();
  return nullptr;
}

void* Recorder::start(const Communicator* communicator, const Event& event) {
  if (!recording()) return nullptr;
  const bool is_part = event.kind == Kind::kChannel || event.kind == Kind::kProxyOperation;
  void* handle = nullptr;
  Slot* slot = take_slot(is_part ? 1 : 0, handle);
  if (slot == nullptr) {
    count_lost();
    return nullptr;
  }
  Record& record = slot->record;
  record = {};
  uint64_t state = 0;
  if (Slot* parent = is_part ? hold(event.parent, state, true) : nullptr) {
    if (parent->epoch.load(std::memory_order_relaxed) == slot->epoch.load(std::memory_order_relaxed)) {
      record.function = parent->record.function;
      record.sequence = parent->record.sequence;
    }
    parent->state.store(state, std::memory_order_release);
  }
  record.kind = event.kind;
  record.channel = event.channel;
  record.channels = event.channels;
  record.flags = event.flags;
  record.peer = event.peer;
  record.communicator = communicator == nullptr ? 0 : communicator->hash;
  record.count = event.count;
  if (event.sequence != kNoSequence) record.sequence = event.sequence;
  if (event.function != nullptr) copy_text(record.function, event.function);
  copy_text(record.datatype, without_front(event.datatype));
  copy_text(record.algorithm, event.algorithm);
  copy_text(record.protocol, event.protocol);
  slot->device_start_ns = event.device_start_ns;
  slot->device_stop_ns = 0;
  slot->start_ns = clock_ns(CLOCK_MONOTONIC);
  record.start_unix_ns = slot->start_ns + unix_minus_monotonic_ns_.load(std::memory_order_relaxed);
  const uint64_t generation = reinterpret_cast<uint64_t>(handle) >> kGenerationBits;
  slot->state.store(generation << kDoingBits | kRuns, std::memory_order_release);
  return handle;
}

void Recorder::device_stop(void* handle, uint64_t device_ns) {
  uint64_t state = 0;
  Slot* slot = hold(handle, state, false);
  if (slot == nullptr) return;
  slot->device_stop_ns = device_ns;
  slot->state.store(state, std::memory_order_release);
}

void Recorder::stop(void* handle) {
  uint64_t state = 0;
  Slot* slot = hold(handle, state, false);
  if (slot == nullptr) return;
  Record& record = slot->record;
  record.duration_ns = clock_ns(CLOCK_MONOTONIC) - slot->start_ns;
  if (record.kind == Kind::kChannel) {
    const bool told = slot->device_start_ns > 0 && slot->device_stop_ns >= slot->device_start_ns;
    if (told) record.duration_ns = static_cast<int64_t>(slot->device_stop_ns - slot->device_start_ns);
    if (!told) record.flags |= kHostTime;
  }
  put(record, slot->epoch.load(std::memory_order_relaxed));
  // Its parts may still ask for it.
  slot->state.store((state & ~kDoingMask) | kDone, std::memory_order_release);
}

void Recorder::put(const Record& record, uint64_t epoch) {
  writers_.fetch_add(1);
  if (recording() && epoch == epoch_.load()) {
    const uint64_t place = std::atomic_ref(header()->taken).fetch_add(1);
    if (place < kMostRecords) {
      Record copy = record;
      copy.epoch = static_cast<uint32_t>(epoch);
      copy.check = check_of(copy);
      std::memcpy(static_cast<char*>(ring_) + kRecordsAt + place * sizeof(Record), &copy, sizeof copy);
    }
  }
  writers_.fetch_sub(1);
}

void Recorder::count_lost() {
  if (ring_ != nullptr) std::atomic_ref(header()->lost).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace eroica::nccl
