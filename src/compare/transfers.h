#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/collective_join.h"
#include "compare/job.h"
#include "compare/subject.h"

namespace eroica {

/// How far a group's members are from each other.
enum class Span : uint8_t { kUnknown, kOneHost, kHosts };

/// What moving the data of one kind of collective in one group takes, waiting for late members left out: the least of
/// the members' median durations, since the member that comes last waits for nobody.
struct Transfer {
  uint32_t group = 0;  ///< in Job::groups
  uint32_t kind = 0;   ///< in Job::words
  Span span = Span::kUnknown;
  std::vector<uint32_t> ranks;  ///< members that were seen, indices in Job::ranks
  std::vector<uint32_t> hosts;  ///< in Job::words, ascending
  double bytes = 0;             ///< of one instance
  double transfer_us = 0;
  double exposed = 0;  ///< mean share of the window over the members
};

/// Does a rank of the subject take part?
bool involves(const Transfer& transfer, const Subject& subject);

/// Every kind of collective of every group with at least 64 KiB an instance.
std::vector<Transfer> transfers(const Job& job);

/// Transfer time of the collectives in which the subject takes part over that of collectives of the same kind, size,
/// group size and span in which it does not; the largest where there are several. Absent: nobody to compare with.
std::optional<double> transfer_ratio(const std::vector<Transfer>& transfers, const Job& job, const Subject& subject,
                                     Span span);

/// Share of the window that a step would be shorter if every transfer took as long as the shortest of the same kind,
/// size, group size and span: of the rank that would gain most, since others wait for it. What a rank waits in a
/// collective is not its transfer.
double transfers_beyond_shortest(const std::vector<Transfer>& transfers, const Job& job);

/// By rank: share of the window in communication that nothing hides and that is not waiting for members who come
/// later, as far as the instances tell that were joined. Never less than any one kind of collective moves data for.
std::vector<double> exposed_transfers(const Job& job, const std::vector<JoinedCollective>& joined);

/// The pair of hosts between which transfers take longest.
struct HostPair {
  std::pair<uint32_t, uint32_t> hosts;  ///< in Job::words
  double ratio = 1;                     ///< over like transfers between other pairs
  double usual = 1;                     ///< median of the ratio over all pairs
};

/// From groups whose members are on two hosts. Absent: fewer than two pairs have like transfers.
std::optional<HostPair> slowest_pair(const std::vector<Transfer>& transfers, const Job& job);

}  // namespace eroica
