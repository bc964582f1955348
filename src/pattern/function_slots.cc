#include "pattern/function_slots.h"

#include <algorithm>

#include "base/hash.h"

namespace eroica {
namespace {

constexpr size_t kMaxSlots = size_t{1} << 17;
constexpr size_t kMaxPathFrames = 96;

uint64_t identity_hash(const CanonicalName& name) {
  const std::string& text = name.full.empty() ? name.text : name.full;
  return hash_combine(hash_bytes(name.file), hash_combine(hash_bytes(name.function), hash_bytes(text)));
}

std::string frame_text(const CanonicalName& name) {
  return name.file.empty() ? name.text : name.file + ": " + (name.function.empty() ? name.text : name.function);
}

template <typename T>
T& grown(std::vector<T>& values, size_t index) {
  if (index >= values.size()) {
    values.resize(std::max(index + 1, values.size() * 2));
  }
  return values[index];
}

}  // namespace

FunctionSlots::FunctionSlots(const StringTable& raw_names) : raw_names_(&raw_names) {}

uint32_t FunctionSlots::keep(CanonicalName name) {
  const uint64_t hash = identity_hash(name);
  const auto [found, is_new] = canonical_by_hash_.try_emplace(hash, static_cast<uint32_t>(canonicals_.size()));
  if (is_new) {
    canonicals_.push_back({std::move(name), hash});
  }
  return found->second;
}

uint32_t FunctionSlots::add_plain(FunctionKind kind, uint32_t raw_name) {
  if (slots_.size() >= kMaxSlots) {
    raw_name = StringTable::kOverflow;
  }
  const bool kernel = kind == FunctionKind::kCompute || kind == FunctionKind::kCollective;
  const std::string_view raw = raw_names_->text(raw_name);
  const uint32_t canonical = keep(kernel ? canonical_kernel(raw) : canonical_operator(raw));
  const uint64_t key = hash_combine(canonicals_[canonical].hash, static_cast<uint64_t>(kind));
  const auto [found, is_new] = plain_by_hash_.try_emplace(key, size());
  if (is_new) {
    Slot slot;
    slot.kind = kind;
    slot.canonical = canonical;
    slots_.push_back(std::move(slot));
  }
  grown(plain_[static_cast<size_t>(kind)], raw_name) = found->second + 1;
  return found->second;
}

uint32_t FunctionSlots::frame(uint32_t parent, uint32_t raw_name, bool standing) {
  auto& [canonical, line] = grown(frame_canonical_, raw_name);
  if (canonical == 0) {
    CanonicalName name = canonical_python(raw_names_->text(raw_name));
    line = name.line;  // of this very spelling: it is no part of the identity
    canonical = keep(std::move(name)) + 1;
  }
  return frame_of_canonical(parent, canonical - 1, standing ? 0 : line);
}

uint32_t FunctionSlots::frame_of_canonical(uint32_t parent, uint32_t canonical, int32_t line) {
  const uint64_t key = (uint64_t{parent + 1} << 32) | canonical;
  const auto found = frames_.find(key);
  if (found != frames_.end()) {
    Slot& slot = slots_[found->second];
    if (line > 0 && (slot.line == 0 || line < slot.line)) {
      slot.line = line;
    }
    return found->second;
  }
  if (slots_.size() >= kMaxSlots && parent != kNoSlot) {
    return parent;
  }
  const uint32_t index = size();
  Slot slot;
  slot.kind = FunctionKind::kPython;
  slot.line = line;
  slot.canonical = canonical;
  slot.parent = parent;
  slot.path_hash = hash_combine(parent == kNoSlot ? 0 : slots_[parent].path_hash, canonicals_[canonical].hash);
  const CanonicalName& name = canonicals_[canonical].name;
  const bool is_user_code = !name.framework && !name.file.empty();
  slot.user = is_user_code ? index : parent == kNoSlot ? kNoSlot : slots_[parent].user;
  slots_.push_back(std::move(slot));
  frames_.emplace(key, index);
  return index;
}

uint32_t FunctionSlots::call_stack(uint32_t raw_stack) {
  const auto [found, is_new] = stacks_.try_emplace(raw_stack, kNoSlot);
  if (!is_new) {
    return found->second;
  }
  std::string_view left = raw_names_->text(raw_stack);
  uint32_t slot = kNoSlot;
  while (!left.empty()) {
    const size_t cut = left.find(';');
    const std::string_view raw = left.substr(0, cut);
    left = cut == std::string_view::npos ? std::string_view() : left.substr(cut + 1);
    if (raw.empty()) {
      continue;
    }
    CanonicalName name = canonical_python(raw);
    const int32_t line = name.line;
    slot = frame_of_canonical(slot, keep(std::move(name)), line);
  }
  stacks_[raw_stack] = slot;
  return slot;
}

void FunctionSlots::add_to_union(uint32_t slot, int64_t start_ns, int64_t end_ns) {
  Slot& s = slots_[slot];
  const int64_t from = std::max(start_ns, s.covered_until_ns);
  if (end_ns > from) {
    s.total_ns += end_ns - from;
    s.self_ns += end_ns - from;
    s.covered_until_ns = end_ns;
  }
}

uint64_t FunctionSlots::hash(uint32_t slot) const {
  const Slot& s = slots_[slot];
  const uint64_t path = s.parent == kNoSlot ? 0 : slots_[s.parent].path_hash;
  return function_hash(s.kind, canonicals_[s.canonical].name, path);
}

std::vector<uint64_t> FunctionSlots::hashes() const {
  std::vector<uint64_t> all(slots_.size());
  for (uint32_t slot = 0; slot < size(); ++slot) {
    all[slot] = hash(slot);
  }
  return all;
}

uint64_t FunctionSlots::describe(uint32_t slot, NameTable& names) const {
  const uint64_t key = hash(slot);
  const auto [entry, is_new] = names.try_emplace(key);
  if (!is_new) {
    return key;
  }
  const Slot& s = slots_[slot];
  const CanonicalName& name = canonicals_[s.canonical].name;
  FunctionName& words = entry->second;
  words.text = name.text;
  words.full = name.full;
  words.file = name.file;
  words.kind = s.kind;
  for (uint32_t caller = s.parent; caller != kNoSlot && words.path.size() < kMaxPathFrames;
       caller = slots_[caller].parent) {
    words.path.push_back(frame_text(canonicals_[slots_[caller].canonical].name));
  }
  std::reverse(words.path.begin(), words.path.end());
  return key;
}

}  // namespace eroica
