#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/bundle.h"

namespace eroica {

/// A file that bundle.json names. Paths are as written, relative to the bundle's folder; they never leave it.
struct BundleFile {
  std::string key;   ///< where it stands: "ranks[2].trace"
  std::string path;  ///< empty: none named
};

struct BundleRank {
  RankInput rank;   ///< without its files' paths
  std::string key;  ///< "ranks[2]"
  BundleFile trace;
  BundleFile stacks;
};

/// What bundle.json says.
struct BundleDocument {
  std::string job_id;
  int32_t world_size = -1;  ///< never below the largest rank + 1, where it is named
  std::optional<WindowSpec> window;
  std::vector<HostInput> hosts;   ///< as listed, then those that only ranks name
  std::vector<BundleRank> ranks;  ///< by rank, each once
  std::vector<ProcessGroup> groups;
  std::vector<BundleFile> samples;
  std::vector<std::string> problems;  ///< what was passed over, and why
};

inline constexpr size_t kMaxBundleBytes = size_t{32} << 20;
inline constexpr size_t kMaxBundleNesting = 64;
inline constexpr int32_t kMaxRank = 9'999'999;

/// Reads the text of a bundle.json; `source` is its name for messages. Unknown keys are ignored, null stands for
/// absent. Errors name the key: not JSON, too large, too deep, a known key of the wrong type or out of range
/// (kInvalid), another schema (kUnsupported), a rank that stands twice (kAmbiguous). Files that would lie outside the
/// bundle are passed over with a problem.
Result<BundleDocument> parse_bundle(std::string_view text, const std::string& source);

}  // namespace eroica
