#pragma once

#include <cstddef>
#include <cstdint>

namespace eroica {

/// Of patterns and name tables; what raises it: proto/pattern.proto.
inline constexpr uint32_t kWireVersion = 1;

/// The longest message, before compression, of a pattern and of a name table: bounds what a few bytes can ask of a
/// reader, and spares the writer from compressing what would not fit anyway.
inline constexpr size_t kMaxPatternMessageBytes = size_t{192} << 10;
inline constexpr size_t kMaxNamesMessageBytes = size_t{64} << 20;

/// Bits of Steps.flags.
inline constexpr uint32_t kStepCut = 1;
inline constexpr uint32_t kStepIrregular = 2;

/// Bits of OpenCollective.flags.
inline constexpr uint32_t kOpenBegun = 1;
inline constexpr uint32_t kOpenUnusual = 2;

}  // namespace eroica
