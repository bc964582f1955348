#include "simulate/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "simulate/fault_tools.h"

namespace eroica {
namespace {

bool read(std::string_view text, auto& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size();
}

Error invalid(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

/// "rank3", "3" → 3; "host1" or a host's name → the host.
struct Target {
  int rank = -1;
  int host = -1;
};
Result<Target> find_target(const Plant& plant, std::string_view text) {
  Target target;
  if (text.empty() || text == "all") return target;
  const auto named = std::ranges::find(plant.dialect.hosts, text);
  std::string_view digits = text;
  if (named != plant.dialect.hosts.end()) {
    target.host = static_cast<int>(named - plant.dialect.hosts.begin());
  } else if (text.starts_with("host")) {
    digits.remove_prefix(4);
    if (!read(digits, target.host)) target.host = plant.job.hosts;
  } else {
    if (text.starts_with("rank")) digits.remove_prefix(4);
    if (!read(digits, target.rank)) target.rank = plant.job.world();
  }
  if (target.host >= plant.job.hosts || target.rank >= plant.job.world() || (target.host < 0 && target.rank < 0)) {
    return invalid(fmt::format("there is no '{}': the job has {} ranks on the hosts {}", text, plant.job.world(),
                               fmt::join(plant.dialect.hosts, ", ")));
  }
  return target;
}

std::vector<FaultKind> join_kinds() {
  std::vector<FaultKind> all;
  for (const auto kinds :
       {gpu_faults(), network_faults(), host_faults(), software_faults(), blocking_faults(), benign_cases()}) {
    all.insert(all.end(), kinds.begin(), kinds.end());
  }
  return all;
}

}  // namespace

Result<FaultWish> parse_fault(std::string_view text) {
  FaultWish wish;
  std::string_view rest = text;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    wish.target = rest.substr(at + 1);
    if (wish.target.empty()) return invalid(fmt::format("'{}': a rank or a host must follow @", text));
    rest = rest.substr(0, at);
  }
  bool first = true;
  while (true) {
    const size_t colon = rest.find(':');
    const std::string_view word = rest.substr(0, colon);
    double strength = 0;
    if (first) {
      wish.id = word;
      if (find_fault(word) == nullptr)
        return invalid(fmt::format("there is no fault '{}'; --list-faults lists them", word));
    } else if (word == "moving") {
      wish.moving = true;
    } else if (word.starts_with("every=")) {
      if (!read(word.substr(6), wish.every) || wish.every < 1 || wish.every > 1000)
        return invalid(fmt::format("'{}': every=N takes 1 to 1000 steps", text));
    } else if (read(word, strength) && strength >= 0 && strength <= 1) {
      wish.strength = strength;
    } else {
      return invalid(fmt::format("'{}': '{}' is no strength from 0 to 1, 'moving' or 'every=N'", text, word));
    }
    first = false;
    if (colon == std::string_view::npos) return wish;
    rest = rest.substr(colon + 1);
  }
}

std::span<const FaultKind> fault_kinds() {
  static const std::vector<FaultKind> kAll = join_kinds();
  return kAll;
}

const FaultKind* find_fault(std::string_view id) {
  const auto kinds = fault_kinds();
  const auto found = std::ranges::find(kinds, id, &FaultKind::id);
  return found == kinds.end() ? nullptr : &*found;
}

JobNeeds merge_needs(const JobNeeds& a, const JobNeeds& b) {
  JobNeeds both;
  both.several_hosts = a.several_hosts || b.several_hosts;
  both.hosts = std::max(a.hosts, b.hosts);
  both.pipeline = a.pipeline || b.pipeline;
  both.experts = a.experts || b.experts;
  both.transformer = a.transformer || b.transformer;
  both.tensor_parallel = a.tensor_parallel || b.tensor_parallel;
  both.fat_input = a.fat_input || b.fat_input;
  both.busy_host = a.busy_host || b.busy_host;
  both.heavy_network = a.heavy_network || b.heavy_network;
  both.replicas = a.replicas || b.replicas;
  both.overlap = a.overlap || b.overlap;
  both.bonded = a.bonded || b.bonded;
  return both;
}

Result<FaultOutcome> apply_fault(Plant& plant, const HealthyFacts& facts, const FaultWish& wish,
                                 double default_strength, Random& random) {
  const FaultKind* kind = find_fault(wish.id);
  if (kind == nullptr) return invalid(fmt::format("there is no fault '{}'", wish.id));
  Result<Target> target = find_target(plant, wish.target);
  if (!target) return target.error();
  int rank = random.integer(0, plant.job.world() - 1);
  int host = random.integer(0, plant.job.hosts - 1);
  if (target->rank >= 0) {
    rank = target->rank;
    host = plant.job.host_of(rank);
  } else if (target->host >= 0) {
    host = target->host;
    rank = ranks_of_host(plant.job, host)[random.next() % ranks_of_host(plant.job, host).size()];
  }
  FaultOutcome outcome;
  outcome.cause = kind->id;
  outcome.accept = {std::string(kind->id)};
  const FaultScene scene{plant, facts, wish, wish.strength.value_or(default_strength), random, rank, host};
  kind->apply(scene, outcome);
  return outcome;
}

}  // namespace eroica
