#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/clock_alignment.h"
#include "trace/trace.h"

namespace eroica {

/// A collective as its event and the arguments linked to it tell.
struct CollectiveFacts {
  std::string kind;   ///< "all_reduce" …
  std::string group;  ///< name or description, with the ranks where they are known; empty = not told
  int64_t sequence = -1;
  int64_t bytes = -1;    ///< payload, −1 = not told
  int32_t peer = -1;     ///< the other rank of a send or receive
  bool barrier = false;  ///< all members end together
};

/// Tells the collectives among a trace's events. The trace must outlive it.
class CollectiveReader {
 public:
  explicit CollectiveReader(const Trace& trace);

  /// Is this event, on such a track, a collective that runs there? (Host annotations that only launch one are none.)
  [[nodiscard]] bool runs(const Track& track, const Event& event) const;
  /// What is known of it; for events that runs() says yes to.
  [[nodiscard]] CollectiveFacts facts(const Track& track, const Event& event) const;

 private:
  void follow_launches(const Track& track);
  [[nodiscard]] const CollectiveArgs* args_of(const Track& track, const Event& event) const;

  const Trace& trace_;
  std::unordered_map<uint32_t, uint32_t> launched_;  // correlation → what the operator around its launch said
  std::vector<bool> kernel_names_;                   // by name: a kernel of this name is a collective
  std::vector<bool> host_names_;
};

/// The ends of all barrier-like collectives of a trace, as Unix time on its own clock (base_unix_ns added).
std::vector<CollectiveEnd> collective_ends(const Trace& trace);

}  // namespace eroica
