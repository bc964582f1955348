#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/quantile_sketch.h"
#include "base/string_table.h"
#include "pattern/identity.h"
#include "pattern/pattern.h"
#include "pattern/shapes.h"

namespace eroica {

inline constexpr uint32_t kNoSlot = 0xffffffff;

/// What is gathered about one function while a trace is reduced.
struct Slot {
  FunctionKind kind = FunctionKind::kPython;
  int32_t line = 0;                      ///< of the definition: the smallest line seen; 0 = not told
  uint32_t canonical = 0;                ///< index of its canonical name
  uint32_t parent = kNoSlot;             ///< Python: the calling function
  uint32_t user = kNoSlot;               ///< Python: itself or its nearest caller that is the user's own code
  uint64_t path_hash = 0;                ///< Python: of the call path with itself
  uint32_t open = 0;                     ///< executions on the stack right now (recursion)
  int64_t covered_until_ns = INT64_MIN;  ///< for the union of executions
  uint64_t executions = 0;
  int64_t total_ns = 0;
  int64_t self_ns = 0;
  int64_t longest_ns = 0;
  int64_t bytes = 0;
  uint64_t smallest_shape = UINT64_MAX;  ///< with largest_shape: a fingerprint of the set of shapes, order-free
  uint64_t largest_shape = 0;
  DistinctShapes shapes;
  double work = 0;
  uint64_t beside_executions = 0;
  int64_t beside_ns = 0;
  QuantileSketch durations;
  QuantileSketch::Places places{};  ///< in durations
};

/// The functions of one trace: raw names become canonical, Python frames become call paths. Bounded: beyond the most
/// slots kept, deeper calls count for their caller and other functions for one "(other)" of their kind.
class FunctionSlots {
 public:
  explicit FunctionSlots(const StringTable& raw_names);

  /// The function `raw_name` (in the trace's names) of a kind other than kPython frames.
  uint32_t plain(FunctionKind kind, uint32_t raw_name) {
    const std::vector<uint32_t>& by_name = plain_[static_cast<size_t>(kind)];
    const uint32_t known = raw_name < by_name.size() ? by_name[raw_name] : 0;
    return known != 0 ? known - 1 : add_plain(kind, raw_name);
  }
  /// The Python frame `raw_name` called from slot `parent` (kNoSlot: outermost).
  /// `standing`: it was already running when the trace began, so its line is where it stood, not its definition's.
  uint32_t frame(uint32_t parent, uint32_t raw_name, bool standing = false);
  /// The innermost frame of an old-schema call stack ("file(line): func;…", outermost first), kNoSlot when empty.
  uint32_t call_stack(uint32_t raw_stack);

  [[nodiscard]] Slot& operator[](uint32_t slot) { return slots_[slot]; }
  [[nodiscard]] const Slot& operator[](uint32_t slot) const { return slots_[slot]; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  [[nodiscard]] const CanonicalName& canonical(uint32_t slot) const { return canonicals_[slots_[slot].canonical].name; }

  /// One execution of `slot`: counts it and its duration (already clipped to the window).
  void add_execution(uint32_t slot, int64_t duration_ns) {
    Slot& s = slots_[slot];
    ++s.executions;
    s.longest_ns = std::max(s.longest_ns, duration_ns);
    s.durations.add(duration_ns, s.places);
  }
  /// Adds a device execution's part of the union; executions come by start.
  void add_to_union(uint32_t slot, int64_t start_ns, int64_t end_ns);
  void add_shape(uint32_t slot, uint64_t shape_hash) {
    Slot& s = slots_[slot];
    s.smallest_shape = std::min(s.smallest_shape, shape_hash);
    s.largest_shape = std::max(s.largest_shape, shape_hash);
    s.shapes.add(shape_hash);
  }

  /// The function's hash as it goes over the wire.
  [[nodiscard]] uint64_t hash(uint32_t slot) const;
  [[nodiscard]] std::vector<uint64_t> hashes() const;
  /// Adds the function's words to `names`; returns its hash.
  uint64_t describe(uint32_t slot, NameTable& names) const;

 private:
  struct Canonical {
    CanonicalName name;
    uint64_t hash;
  };
  uint32_t add_plain(FunctionKind kind, uint32_t raw_name);
  uint32_t keep(CanonicalName name);
  uint32_t frame_of_canonical(uint32_t parent, uint32_t canonical, int32_t line);

  const StringTable* raw_names_;
  std::vector<Slot> slots_;
  std::deque<Canonical> canonicals_;
  std::vector<std::pair<uint32_t, int32_t>> frame_canonical_;    // by raw name: canonical + 1, line
  std::array<std::vector<uint32_t>, kFunctionKindCount> plain_;  // by raw name: slot + 1
  std::unordered_map<uint64_t, uint32_t> canonical_by_hash_;
  std::unordered_map<uint64_t, uint32_t> plain_by_hash_;
  std::unordered_map<uint64_t, uint32_t> frames_;  // parent + 1 and canonical
  std::unordered_map<uint32_t, uint32_t> stacks_;
};

}  // namespace eroica
