#include "sample/tcp_deliveries.h"

#include <algorithm>

#include "base/robust.h"

namespace eroica {
namespace {

constexpr size_t kMostConnections = 1 << 16;
constexpr uint64_t kLeastBytes = 1'000'000;  // over less a rate says nothing
constexpr double kSlow = 0.5;                // of the others' rate

uint64_t growth(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

double rate(uint64_t bytes, uint64_t busy_us) {
  return busy_us == 0 ? 0 : static_cast<double>(bytes) * 1e6 / static_cast<double>(busy_us);
}

}  // namespace

void TcpDeliveries::add(const TcpConnection& now) {
  if (seen_.size() >= kMostConnections && !seen_.contains(now.inode)) return;
  const auto [found, is_new] = seen_.try_emplace(now.inode);
  Seen& seen = found->second;
  if (!is_new) {
    const uint64_t bytes = growth(now.acked_bytes, seen.acked_bytes);
    if (!now.is_local) {  // no network is in the way of those
      Sum& peer = by_peer_[now.peer];
      peer.bytes += bytes;
      peer.busy_us += growth(now.busy_us, seen.busy_us);
    }
    retransmitted_ += growth(now.retransmitted, seen.retransmitted);
    if (bytes > 0 && now.delivery_bytes_per_s > 0) rates_.push_back(static_cast<double>(now.delivery_bytes_per_s));
  }
  seen = {now.acked_bytes, now.busy_us, now.retransmitted};
}

double TcpDeliveries::take_rate_bytes_per_s() {
  const double middle = rates_.empty() ? 0 : median(rates_);
  rates_.clear();
  return middle;
}

TcpDeliveries::Peer TcpDeliveries::slow_peer() const {
  Sum all;
  for (const auto& [address, sum] : by_peer_) {
    all.bytes += sum.bytes;
    all.busy_us += sum.busy_us;
  }
  Peer slowest;
  for (const auto& [address, sum] : by_peer_) {
    if (sum.bytes < kLeastBytes || all.bytes - sum.bytes < kLeastBytes) continue;
    const Peer one = {address_text(address), rate(sum.bytes, sum.busy_us),
                      rate(all.bytes - sum.bytes, all.busy_us - sum.busy_us)};
    const bool is_slow = one.bytes_per_s > 0 && one.bytes_per_s < kSlow * one.others_bytes_per_s;
    if (is_slow && (slowest.address.empty() || one.bytes_per_s < slowest.bytes_per_s)) slowest = one;
  }
  return slowest;
}

}  // namespace eroica
