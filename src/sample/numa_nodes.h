#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sample/system_files.h"

namespace eroica {

/// "0-3,8" → 0, 1, 2, 3, 8; at most 65,536. What is odd is passed over.
std::vector<int32_t> parse_cpu_list(std::string_view text);

/// Which CPUs belong to which memory.
class NumaNodes {
 public:
  explicit NumaNodes(const SystemFiles& files);
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] std::optional<int32_t> of_cpu(int32_t cpu) const;

 private:
  size_t count_ = 0;
  std::map<int32_t, int32_t> nodes_;  // by CPU
};

/// The node at which a PCI device is, "00000000:17:00.0" or the like; absent: not told.
std::optional<int32_t> node_of_device(const SystemFiles& files, std::string_view bus_id);

}  // namespace eroica
