#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace eroica {

constexpr uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}
inline uint64_t intern_hash(uint64_t value) { return mix(1, value); }
inline uint64_t intern_hash(const OpArgs& args) {
  uint64_t hash = mix(args.input_dims, args.input_types);
  hash = mix(hash, uint64_t{args.concrete_inputs} << 32 | args.call_stack);
  return mix(hash, args.collective);
}
inline uint64_t intern_hash(const Launch& launch) {
  uint64_t hash = mix(launch.grid, launch.block);
  hash = mix(hash, static_cast<uint64_t>(launch.graph));
  hash = mix(hash, static_cast<uint64_t>(launch.graph_node));
  return mix(hash, launch.collective);
}
inline uint64_t intern_hash(const CollectiveArgs& args) {
  uint64_t hash = mix(uint64_t{args.kind} << 32 | args.dtype, uint64_t{args.group_name} << 32 | args.group_desc);
  hash = mix(hash, args.group_ranks);
  hash = mix(hash, static_cast<uint64_t>(args.in_elements));
  hash = mix(hash, static_cast<uint64_t>(args.out_elements));
  hash = mix(hash, static_cast<uint64_t>(args.group_size));
  hash = mix(hash, static_cast<uint64_t>(args.src_rank));
  hash = mix(hash, static_cast<uint64_t>(args.dst_rank));
  return mix(hash, static_cast<uint64_t>(args.sequence));
}

/// Stores equal values once in a vector that lives elsewhere and whose entry 0 means "none". Bounded.
template <typename T>
class InternTable {
 public:
  static constexpr size_t kMaxEntries = size_t{1} << 18;

  explicit InternTable(std::vector<T>& values) : values_(values), slots_(256, 0) {}

  /// The index of `value`; 0 when it equals entry 0 or the table is full.
  uint32_t intern(const T& value) {
    if (value == values_[0]) return 0;
    size_t slot = find(value);
    if (slots_[slot] != 0) return slots_[slot];
    if (values_.size() >= kMaxEntries) {
      ++overflows_;
      return 0;
    }
    slots_[slot] = static_cast<uint32_t>(values_.size());
    values_.push_back(value);
    if (values_.size() * 2 > slots_.size()) grow();
    return static_cast<uint32_t>(values_.size() - 1);
  }
  [[nodiscard]] uint64_t overflows() const { return overflows_; }

 private:
  size_t find(const T& value) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = intern_hash(value) >> 8 & mask;
    while (slots_[slot] != 0 && !(values_[slots_[slot]] == value)) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t i = 1; i < values_.size(); ++i) slots_[find(values_[i])] = i;
  }

  std::vector<T>& values_;
  std::vector<uint32_t> slots_;  // open addressing; 0 = free
  uint64_t overflows_ = 0;
};

}  // namespace eroica
