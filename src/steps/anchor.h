#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "steps/step.h"

namespace eroica {

/// The mark that tells one step from the next.
struct Anchor {
  MarkKind kind;  ///< kOptimizer: a step ends where it ends; kFetch: a step begins where it begins
  uint64_t name_hash;
  uint32_t per_step = 1;  ///< so many in a row end one step (two optimizers of one class)
  bool operator==(const Anchor&) const = default;
};

struct AnchorSearch {
  uint32_t min_repeats = 2;       ///< like cycles before an anchor is believed
  uint32_t fetch_patience = 0;    ///< fetches without any optimizer before fetches alone may be the anchor
  bool all_known = false;         ///< no marks will follow: one whole cycle is enough
  std::optional<Anchor> current;  ///< kept where another one would do just as well
};

/// The rarest recurring optimizer among `marks` (in order of start): of a discriminator that steps five times per
/// generator step, the generator; of several that step once each, the last of the cycle. An optimizer that is more
/// than 16 times rarer than the most frequent one is side work and none. Without any optimizer: the loader that
/// fetches most. Nothing where nothing recurs.
///
/// Which of two equally rare ones is last: the one that fetches follow, else the one that the longer pause follows,
/// else the greater hash; so that the ranks of a job, whose windows begin at different marks, agree.
std::optional<Anchor> find_anchor(std::span<const Mark> marks, const AnchorSearch& search);

}  // namespace eroica
