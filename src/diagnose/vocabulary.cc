#include "diagnose/vocabulary.h"

#include <algorithm>
#include <array>

namespace eroica {
namespace {

constexpr std::array<std::string_view, 4> kNeeds = {"required", "any", "supports", "contradicts"};
constexpr std::array<std::string_view, 5> kStatistics = {"mean", "maximum", "minimum", "deviation", "variation"};
constexpr std::array<std::string_view, 8> kSubjects = {"signal", "time",  "function", "stage",
                                                       "moving", "label", "all",      "blocked"};

template <typename Enum, size_t N>
std::optional<Enum> by_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

template <size_t N>
std::vector<std::string_view> listed(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

const KnownFact* find_fact(std::string_view name) {
  const auto at = std::ranges::find(all_facts(), name, &KnownFact::name);
  return at == all_facts().end() ? nullptr : &*at;
}

bool is_signal(std::string_view name) {
  const KnownFact* fact = find_fact(name);
  return fact != nullptr && is_signal(*fact);
}

bool has_entity(const KnownFact& signal, std::string_view kind) {
  std::string_view rest = signal.entities;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == kind) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool selects_labels(std::string_view fact) { return fact == "label.differs" || fact == "baseline.label_differs"; }

bool takes_function(std::string_view fact) {
  return (fact.starts_with("function.") && fact != "function.user_share") || selects_labels(fact);
}

const std::vector<std::string_view>& known_facts() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const KnownFact& fact : all_facts()) all.push_back(fact.name);
    return all;
  }();
  return names;
}

const std::vector<std::string_view>& taxonomy() {
  static const std::vector<std::string_view> ids = {
      "gpu.thermal_throttle",
      "gpu.power_cap",
      "gpu.power_brake",
      "gpu.clock_locked",
      "gpu.sync_boost_drag",
      "gpu.slow_unexplained",
      "gpu.ecc_remap",
      "gpu.hbm_degraded",
      "gpu.shared",
      "gpu.allocator_retries",
      "gpu.pinned_memory_churn",
      "gpu.driver_contention",
      "gpu.comm_compute_contention",
      "pcie.link_downgrade",
      "pcie.replays",
      "nvlink.down",
      "nvlink.lane_errors",
      "nvlink.fabric_fault",
      "nic.flap",
      "nic.bond_degraded",
      "nic.gdr_misconfigured",
      "nic.slow_link",
      "net.pfc_storm",
      "net.congestion",
      "net.ecmp_collision",
      "net.port_errors",
      "net.background_traffic",
      "cpu.comm_proxy_starved",
      "cpu.contention",
      "cpu.cgroup_throttle",
      "cpu.numa_misbinding",
      "cpu.irq_load",
      "cpu.frequency_cap",
      "cpu.affinity",
      "cpu.thread_count",
      "python.gc_pause",
      "python.gil_contention",
      "data.workers_starved",
      "data.slow_remote_storage",
      "data.metadata_storm",
      "data.slow_local_disk",
      "storage.checkpoint_stall",
      "memory.page_cache_thrash",
      "memory.pressure",
      "memory.thp_compaction",
      "code.device_sync",
      "code.logging_io",
      "code.launch_bound",
      "code.recompile",
      "code.kernel_variance",
      "code.slow_function",
      "work.sequence_imbalance",
      "work.batch_imbalance",
      "work.pipeline_imbalance",
      "work.expert_imbalance",
      "work.step_repeated",
      "config.math_mode",
      "config.collective_algorithm",
      "config.environment_differs",
      "config.version_skew",
      "profiler.residue",
      "blocked.rank",
      "blocked.mismatch",
      "blocked.process_dead",
      "blocked.process_stopped",
      "blocked.deadlock",
  };
  return ids;
}

bool is_cause(std::string_view id) {
  const auto part_of_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (id.starts_with("site.")) {
    const std::string_view name = id.substr(5);
    return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, part_of_name);
  }
  return std::ranges::find(taxonomy(), id) != taxonomy().end();
}

std::optional<Need> need_by_name(std::string_view name) { return by_name<Need>(kNeeds, name); }
std::optional<Statistic> statistic_by_name(std::string_view name) { return by_name<Statistic>(kStatistics, name); }
std::optional<SubjectBy> subject_by_name(std::string_view name) { return by_name<SubjectBy>(kSubjects, name); }
std::string_view need_name(Need need) { return kNeeds[static_cast<size_t>(need)]; }
std::string_view statistic_name(Statistic statistic) { return kStatistics[static_cast<size_t>(statistic)]; }
std::string_view subject_name(SubjectBy subject) { return kSubjects[static_cast<size_t>(subject)]; }
std::vector<std::string_view> need_names() { return listed(kNeeds); }
std::vector<std::string_view> statistic_names() { return listed(kStatistics); }
std::vector<std::string_view> subject_names() { return listed(kSubjects); }

std::optional<Scope> scope_by_name(std::string_view name) {
  for (const Scope scope : {Scope::kRanks, Scope::kHost, Scope::kLink, Scope::kAll}) {
    if (scope_name(scope) == name) return scope;
  }
  return std::nullopt;
}

std::vector<std::string_view> scope_names() {
  return {scope_name(Scope::kRanks), scope_name(Scope::kHost), scope_name(Scope::kLink), scope_name(Scope::kAll)};
}

std::optional<TimeClass> time_class_by_name(std::string_view name) {
  for (size_t i = 0; i < kTimeClassCount; ++i) {
    if (time_class_name(static_cast<TimeClass>(i)) == name) return static_cast<TimeClass>(i);
  }
  return std::nullopt;
}

std::vector<std::string_view> time_class_names() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kTimeClassCount; ++i) names.push_back(time_class_name(static_cast<TimeClass>(i)));
  return names;
}

const std::vector<std::string_view>& component_names() {
  static const std::vector<std::string_view> names = {"rank", "worker", "thread", "cgroup", "host",
                                                      "gpu",  "nic",    "disk",   "cpu"};
  return names;
}

const std::vector<std::string_view>& kernel_names() {
  static const std::vector<std::string_view> names = {"gemm", "memory_bound", "any"};
  return names;
}

const std::vector<std::string_view>& placeholder_names() {
  static const std::vector<std::string_view> names = {"ranks", "hosts",    "component", "value",
                                                      "peers", "function", "lost"};
  return names;
}

}  // namespace eroica
