#include "compare/transfers.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr double kLeastBytes = 65536;
constexpr size_t kMostAsked = 2048;
constexpr size_t kMostOthers = 4096;

bool comparable(const Job& job, const Transfer& a, const Transfer& b) {
  return a.kind == b.kind && a.span == b.span && job.groups[a.group].size == job.groups[b.group].size &&
         std::max(a.bytes, b.bytes) <= 1.1 * std::min(a.bytes, b.bytes);
}

}  // namespace

std::vector<Transfer> transfers(const Job& job) {
  std::map<std::pair<uint32_t, uint32_t>, Transfer> found;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    for (const CollectiveUse& use : job.collectives_of(job.ranks[rank])) {
      if (use.bytes < kLeastBytes || use.count <= 0) continue;
      const auto [entry, is_new] = found.try_emplace({use.group, use.kind});
      Transfer& transfer = entry->second;
      if (is_new) {
        transfer.group = use.group;
        transfer.kind = use.kind;
        transfer.transfer_us = use.p50_us;
        transfer.best_us = use.p10_us;
        transfer.bytes = use.bytes;
      }
      transfer.transfer_us = std::min<double>(transfer.transfer_us, use.p50_us);
      transfer.best_us = std::min<double>(transfer.best_us, use.p10_us);
      transfer.exposed += use.exposed;
      if (transfer.ranks.empty() || transfer.ranks.back() != rank) transfer.ranks.push_back(rank);
    }
  }
  std::vector<Transfer> result;
  result.reserve(found.size());
  for (auto& [key, transfer] : found) {
    std::set<uint32_t> hosts;
    for (const uint32_t rank : transfer.ranks) hosts.insert(job.ranks[rank].host);
    transfer.hosts.assign(hosts.begin(), hosts.end());
    const bool known = !hosts.contains(0);
    transfer.span = !known ? Span::kUnknown : hosts.size() == 1 ? Span::kOneHost : Span::kHosts;
    transfer.exposed /= static_cast<double>(transfer.ranks.size());
    result.push_back(std::move(transfer));
  }
  return result;
}

std::optional<double> transfer_ratio(const std::vector<Transfer>& transfers, const Job& job, const Subject& subject,
                                     Span span) {
  std::optional<double> worst;
  // Of very many transfers some of the subject's are compared with some others, evenly spread.
  const size_t stride = std::max<size_t>(1, transfers.size() / kMostOthers);
  size_t asked = 0;
  for (const Transfer& with : transfers) {
    if (asked == kMostAsked) break;
    if (span != Span::kUnknown && with.span != span) continue;
    if (std::none_of(with.ranks.begin(), with.ranks.end(), [&](uint32_t rank) { return subject.contains(rank); })) {
      continue;
    }
    ++asked;
    std::vector<double> usual;
    for (size_t i = 0; i < transfers.size(); i += stride) {
      const Transfer& without = transfers[i];
      if (!comparable(job, with, without)) continue;
      if (std::any_of(without.ranks.begin(), without.ranks.end(),
                      [&](uint32_t rank) { return subject.contains(rank); })) {
        continue;
      }
      usual.push_back(without.transfer_us);
    }
    if (usual.empty()) continue;
    const double usual_us = median(usual);
    if (usual_us <= 0) continue;
    const double ratio = with.transfer_us / usual_us;
    if (!worst || ratio > *worst) worst = ratio;
  }
  return worst;
}

std::optional<HostPair> slowest_pair(const std::vector<Transfer>& transfers, const Job& job) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> by_pair;
  for (const Transfer& transfer : transfers) {
    if (transfer.hosts.size() != 2) continue;
    std::vector<double> alike;
    for (const Transfer& other : transfers) {
      if (other.hosts != transfer.hosts && comparable(job, transfer, other)) alike.push_back(other.transfer_us);
    }
    if (alike.empty()) continue;
    by_pair[{transfer.hosts[0], transfer.hosts[1]}].push_back(transfer.transfer_us / std::max(1.0, median(alike)));
  }
  if (by_pair.size() < 2) return std::nullopt;
  HostPair worst;
  worst.ratio = 0;
  std::vector<double> ratios;
  for (const auto& [hosts, values] : by_pair) {
    ratios.push_back(median(values));
    if (ratios.back() > worst.ratio) {
      worst.ratio = ratios.back();
      worst.hosts = hosts;
    }
  }
  worst.usual = median(ratios);
  return worst;
}

}  // namespace eroica
