#include "compare/function_excess.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/robust.h"
#include "pattern/python_path.h"

namespace eroica {
namespace {

constexpr size_t kMostAsked = 64;
constexpr double kMostOfIt = 0.7;

std::pair<std::string, std::string> split_caller(const std::string& caller) {
  const size_t colon = caller.rfind(": ");
  if (colon == std::string::npos) return {"", caller};
  return {caller.substr(0, colon), caller.substr(colon + 2)};
}

// Is a file the user's own? Asked for few different files again and again.
class UserFiles {
 public:
  bool contains(const std::string& file) {
    if (file.empty()) return false;
    const auto [found, is_new] = known_.try_emplace(file, false);
    if (is_new) found->second = !canonical_python_path(file).framework;
    return found->second;
  }

 private:
  std::unordered_map<std::string, bool> known_;
};

struct Tally {
  double excess = 0;
  double share = 0;
  size_t depth = 0;  // deepest place in a path
  std::vector<std::string> path;
};

using Key = std::pair<std::string, std::string>;  // file, function

}  // namespace

bool is_user_python(const Job& job, uint32_t of, uint32_t issuer) {
  const JobFunction& function = job.functions[of];
  if (function.kind == FunctionKind::kPython) return function.user_code && !function.waits;
  return function.scalar && issuer != 0 && job.functions[issuer - 1].user_code;
}

double user_python_share(const Job& job, const RankFacts& rank) {
  double python = 0;
  double operators = 0;
  for (const FunctionUse& use : job.uses_of(rank)) {
    if (!is_user_python(job, use)) continue;
    (job.functions[use.function].kind == FunctionKind::kPython ? python : operators) += use.exposed;
  }
  return (rank.python_in_steps < 0 ? python : std::min<double>(python, rank.python_in_steps)) + operators;
}

std::vector<FunctionExcess> function_excess(const Job& job, const FunctionIndex& index, const Peers& peers,
                                            const Subject& subject) {
  const std::vector<uint32_t> asked = subject.sample(kMostAsked);
  std::unordered_map<uint32_t, FunctionExcess> sums;
  for (const uint32_t rank : asked) {
    for (const FunctionUse& use : job.uses_of(job.ranks[rank])) {
      FunctionExcess& sum = sums[use.function];
      sum.function = use.function;
      sum.share += use.exposed;
      sum.calls += use.calls;
      if (use.line > 0 && (sum.line == 0 || use.line < sum.line)) sum.line = use.line;
      if (sum.issuer == 0) {
        sum.issuer = use.issuer;
        sum.issuer_line = use.issuer_line;
      }
    }
  }
  // The peers that are asked: ranks outside the subject, of the subject's peer sets.
  std::vector<uint32_t> sets;
  sets.reserve(asked.size());
  for (const uint32_t rank : asked) sets.push_back(peers.set_of[rank]);
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  std::vector<bool> is_peer(job.ranks.size());
  size_t peer_count = 0;
  for (const uint32_t set : sets) {
    const auto& ranks = peers.sets[set].ranks;
    const size_t stride = std::max<size_t>(1, ranks.size() / 256);
    for (size_t i = 0; i < ranks.size(); i += stride) {
      if (subject.contains(ranks[i])) continue;
      is_peer[ranks[i]] = true;
      ++peer_count;
    }
  }
  std::vector<FunctionExcess> result;
  result.reserve(sums.size());
  const auto count = static_cast<double>(asked.size());
  for (auto& [function, sum] : sums) {
    sum.share /= count;
    sum.calls /= count;
    sum.excess = sum.share;
    if (peer_count > 0) {
      std::vector<double> exposed;
      std::vector<double> calls;
      for (const FunctionIndex::Entry& entry : index.uses(function)) {
        if (!is_peer[entry.rank]) continue;
        exposed.push_back(job.uses[entry.use].exposed);
        calls.push_back(job.uses[entry.use].calls);
      }
      exposed.resize(std::max(exposed.size(), peer_count), 0.0);
      calls.resize(std::max(calls.size(), peer_count), 0.0);
      sum.excess = sum.share - median(exposed);
      sum.peers_calls = median(calls);
    }
    result.push_back(sum);
  }
  std::sort(result.begin(), result.end(), [&](const FunctionExcess& a, const FunctionExcess& b) {
    return a.excess != b.excess ? a.excess > b.excess : job.functions[a.function].hash < job.functions[b.function].hash;
  });
  return result;
}

std::optional<UserFunction> blame_user_function(const Job& job, const NameTable& names,
                                                const std::vector<FunctionExcess>& functions, bool by_share) {
  std::map<Key, Tally> tallies;
  std::map<Key, int32_t> lines;
  UserFiles user_files;
  const auto add = [&](const FunctionName& name, bool itself, const FunctionExcess& from) {
    std::vector<Key> seen;
    const auto count = [&](const Key& key, size_t depth) {
      if (!user_files.contains(key.first) || std::find(seen.begin(), seen.end(), key) != seen.end()) return;
      seen.push_back(key);
      Tally& tally = tallies[key];
      tally.excess += from.excess;
      tally.share += from.share;
      if (depth + 1 > tally.depth) {
        tally.depth = depth + 1;
        tally.path.assign(name.path.begin(),
                          name.path.begin() + static_cast<ptrdiff_t>(std::min(depth, name.path.size())));
      }
    };
    for (size_t i = 0; i < name.path.size(); ++i) count(split_caller(name.path[i]), i);
    if (itself) count({name.file, name.text}, name.path.size());
  };
  for (const FunctionExcess& from : functions) {
    const JobFunction& function = job.functions[from.function];
    const auto name = names.find(function.hash);
    if (name == names.end()) continue;
    if (function.kind == FunctionKind::kPython) {
      if (from.line > 0) {
        int32_t& line = lines[{name->second.file, name->second.text}];
        line = line == 0 ? from.line : std::min(line, from.line);
      }
      if (!function.waits) add(name->second, true, from);
    } else if (from.issuer != 0 && function.kind != FunctionKind::kCollective && function.kind != FunctionKind::kSync) {
      const auto issuer = names.find(job.functions[from.issuer - 1].hash);
      if (issuer == names.end()) continue;
      if (from.issuer_line > 0) lines.try_emplace({issuer->second.file, issuer->second.text}, from.issuer_line);
      add(issuer->second, true, from);
    }
  }
  const auto weight = [&](const Tally& tally) { return by_share ? tally.share : tally.excess; };
  double most = 0;
  for (const auto& [key, tally] : tallies) most = std::max(most, weight(tally));
  if (most <= 0) return std::nullopt;
  const std::pair<const Key, Tally>* best = nullptr;
  for (const auto& entry : tallies) {
    if (weight(entry.second) < kMostOfIt * most) continue;
    if (best == nullptr || entry.second.depth > best->second.depth ||
        (entry.second.depth == best->second.depth && weight(entry.second) > weight(best->second))) {
      best = &entry;
    }
  }
  UserFunction found;
  found.file = best->first.first;
  found.name = best->first.second;
  found.path = best->second.path;
  found.excess = best->second.excess;
  found.share = best->second.share;
  if (const auto line = lines.find(best->first); line != lines.end()) found.line = line->second;
  return found;
}

}  // namespace eroica
