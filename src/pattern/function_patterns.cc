#include "pattern/function_patterns.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "base/saturate.h"
#include "pattern/collective_patterns.h"
#include "pattern/hardware.h"

namespace eroica {
namespace {

constexpr size_t kMostFunctions = 512;  // more than encoding can ever hold
constexpr size_t kMostFunctionsWithHardware = 32;
constexpr size_t kMostIssuers = 3;

// Which signals can say something about a kind of function.
bool tells_about(std::string_view metric, FunctionKind kind, bool gpu_job) {
  const auto any = [&](std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return metric.starts_with(p); });
  };
  switch (kind) {
    case FunctionKind::kCompute:
      if (gpu_job) {
        break;
      }
      return any({"cpu.", "memory.", "pressure."});
    case FunctionKind::kMemory: break;
    case FunctionKind::kCollective:
      return any({"net.", "gpu.nvlink", "gpu.pcie", "cpu.run", "cpu.throttled", "cpu.softirq"});
    default: return any({"cpu.", "io.", "disk.", "memory.", "pressure.", "python.", "fs.", "process."});
  }
  return metric.starts_with("gpu.") || metric.find('.') == std::string_view::npos ||
         metric.find("__") != std::string_view::npos;
}

struct Importance {
  int64_t weight_ns;
  uint64_t hash;
  uint32_t slot;
};

void merge_into_rest(FunctionPattern& rest, const Slot& slot, int64_t exposed_ns) {
  rest.kind = slot.kind;
  rest.executions += slot.executions;
  rest.total_ns = saturating_add(rest.total_ns, slot.total_ns);
  rest.self_ns = saturating_add(rest.self_ns, slot.self_ns);
  rest.exposed_ns += exposed_ns;
  rest.longest_ns = std::max(rest.longest_ns, slot.longest_ns);
  rest.bytes = saturating_add(rest.bytes, slot.bytes);
  rest.work += slot.work;
  rest.beside_executions += slot.beside_executions;
  rest.beside_ns = saturating_add(rest.beside_ns, slot.beside_ns);
  rest.durations.merge(slot.durations);
}

std::vector<Issuer> top_issuers(const std::vector<std::pair<uint32_t, int64_t>>& issued, const FunctionSlots& slots,
                                NameTable& names) {
  std::vector<Issuer> issuers;
  issuers.reserve(issued.size());
  for (const auto& [slot, ns] : issued) {
    issuers.push_back({slots.hash(slot), slots[slot].line, ns});
  }
  std::sort(issuers.begin(), issuers.end(),
            [](const Issuer& a, const Issuer& b) { return a.ns != b.ns ? a.ns > b.ns : a.name < b.name; });
  issuers.resize(std::min(issuers.size(), kMostIssuers));
  for (const auto& [slot, ns] : issued) {
    const uint64_t hash = slots.hash(slot);
    if (std::any_of(issuers.begin(), issuers.end(), [&](const Issuer& issuer) { return issuer.name == hash; })) {
      slots.describe(slot, names);
    }
  }
  return issuers;
}

}  // namespace

std::vector<uint32_t> fill_functions(const FunctionSlots& slots, const Attribution& attribution, const IssuedNs& issued,
                                     NameTable& names, RankPattern& pattern) {
  std::vector<uint32_t> kept_slots;
  std::vector<Importance> order;
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    const Slot& s = slots[slot];
    const int64_t exposed = attribution.exposed_ns(slot);
    if (s.executions > 0 || exposed > 0) {
      order.push_back({std::max(exposed, s.self_ns), slots.hash(slot), slot});
    }
  }
  std::sort(order.begin(), order.end(), [](const Importance& a, const Importance& b) {
    return a.weight_ns != b.weight_ns ? a.weight_ns > b.weight_ns : a.hash < b.hash;
  });
  for (size_t kind = 0; kind < kFunctionKindCount; ++kind) {
    pattern.rest[kind].kind = static_cast<FunctionKind>(kind);
  }
  for (size_t i = kMostFunctions; i < order.size(); ++i) {
    const Slot& s = slots[order[i].slot];
    merge_into_rest(pattern.rest[static_cast<size_t>(s.kind)], s, attribution.exposed_ns(order[i].slot));
  }
  order.resize(std::min(order.size(), kMostFunctions));

  std::unordered_map<uint32_t, std::vector<std::pair<uint32_t, int64_t>>> issuers_of;
  for (const Importance& item : order) {
    issuers_of[item.slot];
  }
  for (const auto& [key, ns] : issued) {
    const auto found = issuers_of.find(static_cast<uint32_t>(key >> 32));
    if (found != issuers_of.end()) {
      found->second.emplace_back(static_cast<uint32_t>(key), ns);
    }
  }

  std::sort(order.begin(), order.end(), [&](const Importance& a, const Importance& b) {
    const int64_t exposed_a = attribution.exposed_ns(a.slot);
    const int64_t exposed_b = attribution.exposed_ns(b.slot);
    if (exposed_a != exposed_b) {
      return exposed_a > exposed_b;
    }
    const int64_t total_a = slots[a.slot].total_ns;
    const int64_t total_b = slots[b.slot].total_ns;
    return total_a != total_b ? total_a > total_b : a.hash < b.hash;
  });
  for (const Importance& item : order) {
    const Slot& s = slots[item.slot];
    FunctionPattern function;
    function.name = slots.describe(item.slot, names);
    function.kind = s.kind;
    function.line = s.line;
    function.executions = s.executions;
    function.total_ns = s.total_ns;
    function.self_ns = s.self_ns;
    function.exposed_ns = attribution.exposed_ns(item.slot);
    function.longest_ns = s.longest_ns;
    function.bytes = s.bytes;
    function.durations = s.durations;
    function.issuers = top_issuers(issuers_of[item.slot], slots, names);
    function.step_exposed_us = quantise_us(attribution.step_exposed_ns(item.slot));
    if (s.largest_shape != 0) {
      function.shape = static_cast<uint32_t>(hash_combine(s.smallest_shape, s.largest_shape));
    }
    function.shapes = s.shapes.count();
    function.work = s.work;
    function.beside_executions = s.beside_executions;
    function.beside_ns = s.beside_ns;
    pattern.functions.push_back(std::move(function));
    kept_slots.push_back(item.slot);
  }
  return kept_slots;
}

void fill_hardware(const Attribution& attribution, const std::vector<uint32_t>& kept_slots,
                   std::span<const SampleSeries* const> series, int64_t base_unix_ns, RankPattern& pattern) {
  const int64_t origin_ns = saturating_subtract(base_unix_ns, pattern.window_start_unix_ns);
  const size_t count = std::min(pattern.functions.size(), kMostFunctionsWithHardware);
  for (size_t i = 0; i < count && !series.empty(); ++i) {
    FunctionPattern& function = pattern.functions[i];
    const std::vector<Interval> executions = attribution.executions(kept_slots[i]);
    for (const SampleSeries* one : series) {
      if (executions.empty() || !tells_about(one->metric, function.kind, pattern.gpu_job)) {
        continue;
      }
      HardwareUse use = hardware_use(*one, origin_ns, executions);
      if (use.covered_ns > 0) {
        function.hardware.push_back(std::move(use));
      }
    }
    std::sort(function.hardware.begin(), function.hardware.end(), [](const HardwareUse& a, const HardwareUse& b) {
      return std::tie(a.metric, a.entity) < std::tie(b.metric, b.entity);
    });
  }
}

}  // namespace eroica
