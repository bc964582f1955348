#pragma once

#include <cstdint>
#include <string_view>

namespace eroica {

/// What a sample is about (docs/signals.md).
enum class EntityKind : uint8_t { kRank, kWorker, kThread, kHost, kGpu, kNic, kDisk, kCpu, kOther };
[[nodiscard]] std::string_view entity_kind_name(EntityKind kind);
/// By its name: "rank 2/worker 0", "host node7/gpu 3"; Kineto's own "GPU 0 Counters" are a GPU's.
EntityKind entity_kind(std::string_view entity);

}  // namespace eroica
