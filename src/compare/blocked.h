#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compare/job.h"

namespace eroica {

/// Why a rank is missing in the collective that others wait in.
enum class Absence : uint8_t {
  kElsewhere,      ///< it runs, or waits for something else
  kGone,           ///< its process ended
  kStopped,        ///< its process exists and does nothing at all
  kGoneOrStopped,  ///< its trace ends before the others'; no samples tell which
  kMismatch,       ///< it entered another collective than the rest of the group
  kCycle,          ///< it waits in a group whose members wait for it
};

/// A window that ends in a hang.
struct BlockedJob {
  uint32_t group = 0;  ///< in Job::groups: where the most ranks wait for a missing one
  uint32_t kind = 0;   ///< in Job::words
  int64_t sequence = -1;
  double waited_ms = 0;            ///< the longest wait
  std::vector<uint32_t> waiting;   ///< indices in Job::ranks, ascending: all who wait, for whomever
  std::vector<uint32_t> missing;   ///< … for whom they wait in the end; may be empty: unknown
  std::vector<Absence> absence;    ///< of `missing`
  std::vector<int32_t> untraced;   ///< members of the group of which there is no trace
  std::vector<uint32_t> opposite;  ///< of a mismatch: the members that entered the other collective
};

/// Is the job blocked at the end of its window? It is where no rank has completed a step for long, and some have been
/// in a collective for so long as none took before: more than five usual steps, twice the longest step, and three times
/// the longest collective of the group. They wait for the members that are in no collective; those that are in another
/// one wait themselves, and what they wait for counts. Where all are in one, those of another kind or size than the
/// rest are to blame, else the groups wait for each other.
std::optional<BlockedJob> find_blocked(const Job& job, const NameTable& names);

/// Where the main thread of a rank stood at the end: "train.py: main > data.py: fetch > threading.py: wait"; empty:
/// unknown.
std::string final_stack(const Job& job, const NameTable& names, uint32_t rank);

/// The end of a rank's window, nullptr: it was not quiet.
const RankEnd* end_of(const Job& job, uint32_t rank);

}  // namespace eroica
