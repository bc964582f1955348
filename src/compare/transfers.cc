#include "compare/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/robust.h"
#include "pattern/collectives.h"

namespace eroica {
namespace {

constexpr double kLeastBytes = 65536;
constexpr size_t kMostAsked = 2048;
constexpr size_t kMostOthers = 4096;

bool comparable(const Job& job, const Transfer& a, const Transfer& b) {
  return a.kind == b.kind && a.span == b.span && job.groups[a.group].size == job.groups[b.group].size &&
         std::max(a.bytes, b.bytes) <= 1.1 * std::min(a.bytes, b.bytes);
}

// Those that `counts` tells of; of very many some, evenly spread.
template <typename Counts>
std::vector<const Transfer*> others(const std::vector<Transfer>& transfers, Counts counts) {
  std::vector<const Transfer*> others;
  const size_t stride = std::max<size_t>(1, transfers.size() / kMostOthers);
  for (size_t i = 0; i < transfers.size(); i += stride) {
    if (counts(transfers[i])) others.push_back(&transfers[i]);
  }
  return others;
}

// Median over those that are alike and that `counts`. Absent: there are none.
template <typename Counts>
std::optional<double> usual_of_alike(const std::vector<const Transfer*>& others, const Job& job,
                                     const Transfer& transfer, Counts counts) {
  std::vector<double> usual_us;
  for (const Transfer* other : others) {
    if (comparable(job, transfer, *other) && counts(*other)) usual_us.push_back(other->transfer_us);
  }
  return usual_us.empty() ? std::nullopt : std::optional<double>(median(usual_us));
}

bool any(const Transfer&) { return true; }

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
        transfer.bytes = use.bytes;
      }
      transfer.transfer_us = std::min<double>(transfer.transfer_us, use.p50_us);
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

bool involves(const Transfer& transfer, const Subject& subject) {
  return std::any_of(transfer.ranks.begin(), transfer.ranks.end(),
                     [&](uint32_t rank) { return subject.contains(rank); });
}

std::optional<double> transfer_ratio(const std::vector<Transfer>& transfers, const Job& job, const Subject& subject,
                                     Span span) {
  std::optional<double> worst;
  const auto without = others(transfers, [&](const Transfer& other) { return !involves(other, subject); });
  if (without.empty()) return worst;
  size_t asked = 0;
  for (const Transfer& with : transfers) {
    if (asked == kMostAsked) break;  // of very many some tell enough
    if ((span != Span::kUnknown && with.span != span) || !involves(with, subject)) continue;
    ++asked;
    const auto usual_us = usual_of_alike(without, job, with, any);
    if (!usual_us || *usual_us <= 0) continue;
    const double ratio = with.transfer_us / *usual_us;
    if (!worst || ratio > *worst) worst = ratio;
  }
  return worst;
}

double transfers_beyond_shortest(const std::vector<Transfer>& transfers, const Job& job) {
  // Sizes within a tenth of each other are one.
  const auto alike = [&](const Transfer& transfer) {
    return std::tuple(transfer.kind, transfer.span, job.groups[transfer.group].size,
                      int64_t{std::lround(std::log(transfer.bytes) / std::log(1.1))});
  };
  std::map<std::tuple<uint32_t, Span, int32_t, int64_t>, double> shortest_us;
  std::map<std::pair<uint32_t, uint32_t>, const Transfer*> of_group;  // and kind
  for (const Transfer& transfer : transfers) {
    // A message has one receiver, for whom it may wait without anybody telling.
    if (is_message(job.words[transfer.kind])) continue;
    const auto [entry, is_new] = shortest_us.try_emplace(alike(transfer), transfer.transfer_us);
    if (!is_new) entry->second = std::min(entry->second, transfer.transfer_us);
    of_group[{transfer.group, transfer.kind}] = &transfer;
  }
  double most = 0;
  for (const RankFacts& rank : job.ranks) {
    double beyond = 0;
    for (const CollectiveUse& use : job.collectives_of(rank)) {
      if (use.bytes < kLeastBytes) continue;  // its time is waiting
      const auto found = of_group.find({use.group, use.kind});
      if (found == of_group.end() || found->second->transfer_us <= 0 || use.total <= 0) continue;
      const Transfer& transfer = *found->second;
      const double moving = use.count * transfer.transfer_us * 1e-3 / std::max(1e-9, job.step_ms);
      const double exposed = std::min<double>(use.exposed, moving * use.exposed / use.total);
      beyond += exposed * (1 - shortest_us.at(alike(transfer)) / transfer.transfer_us);
    }
    most = std::max(most, beyond);
  }
  return most;
}

std::vector<double> exposed_transfers(const Job& job, const std::vector<JoinedCollective>& joined) {
  std::map<std::pair<int32_t, uint32_t>, double> moving;  // by rank and summary: part of an instance, not waiting
  for (const JoinedCollective& one : joined) {
    if (!one.is_telling()) continue;
    for (const JoinedMember& member : one.members) {
      const double part = member.wait_us > one.error_us ? one.last_us / (one.last_us + member.wait_us) : 1;
      const auto [entry, is_new] = moving.try_emplace({member.rank, member.summary}, part);
      if (!is_new) entry->second = std::max(entry->second, part);
    }
  }
  std::vector<double> shares;
  shares.reserve(job.ranks.size());
  for (const RankFacts& rank : job.ranks) {
    const double communication = rank.share[static_cast<size_t>(TimeClass::kCommunication)];
    double waiting = 0;
    double most_moving = 0;  // what one waits another may use, if they run at once
    for (const CollectiveUse& use : job.collectives_of(rank)) {
      const auto part = moving.find({rank.rank, use.summary});
      const double moves = use.total * (part == moving.end() ? 1 : part->second);
      waiting += std::max(0.0, use.exposed - moves);
      most_moving = std::max(most_moving, moves);
    }
    shares.push_back(std::clamp(communication - waiting, std::min(most_moving, communication), communication));
  }
  return shares;
}

std::optional<HostPair> slowest_pair(const std::vector<Transfer>& transfers, const Job& job) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> by_pair;
  const auto some = others(transfers, any);
  for (const Transfer& transfer : transfers) {
    if (transfer.hosts.size() != 2) continue;
    const auto usual_us =
        usual_of_alike(some, job, transfer, [&](const Transfer& other) { return other.hosts != transfer.hosts; });
    if (!usual_us) continue;
    by_pair[{transfer.hosts[0], transfer.hosts[1]}].push_back(transfer.transfer_us / std::max(1.0, *usual_us));
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
