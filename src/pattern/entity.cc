#include "pattern/entity.h"

#include <array>

namespace eroica {

std::string_view entity_kind_name(EntityKind kind) {
  constexpr std::array<std::string_view, 9> kNames{"rank", "worker", "thread", "host", "gpu",
                                                   "nic",  "disk",   "cpu",    "other"};
  return kNames[static_cast<size_t>(kind)];
}

EntityKind entity_kind(std::string_view entity) {
  const size_t slash = entity.find('/');
  const std::string_view part = slash == std::string_view::npos ? std::string_view{} : entity.substr(slash + 1);
  if (entity.starts_with("rank ")) {
    if (part.starts_with("worker ")) return EntityKind::kWorker;
    if (part.starts_with("thread ")) return EntityKind::kThread;
    return part.empty() ? EntityKind::kRank : EntityKind::kOther;
  }
  if (entity.starts_with("host ")) {
    if (part.empty()) return EntityKind::kHost;
    if (part.starts_with("gpu ")) return EntityKind::kGpu;
    if (part.starts_with("nic ")) return EntityKind::kNic;
    if (part.starts_with("disk ")) return EntityKind::kDisk;
    if (part.starts_with("cpu")) return EntityKind::kCpu;
  }
  return entity.starts_with("GPU ") ? EntityKind::kGpu : EntityKind::kOther;
}

}  // namespace eroica
