#pragma once

#include <functional>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/trace.h"

namespace eroica {

struct ReadOptions {
  size_t block_bytes = size_t{256} << 10;  ///< how the input is cut; never changes the result
  /// Called with compressed bytes consumed so far, from the reading thread; may be empty.
  std::function<void(uint64_t consumed_bytes)> progress;
};

/// Reads one Kineto or Chrome JSON trace: an object with traceEvents, or a bare array; plain or compressed.
/// Whatever can be used is used and what could not is counted in Trace::defects. An error only when the input holds
/// no trace at all (empty, not JSON, no traceEvents) or cannot be read; the message holds the byte offset.
/// The events come sorted (Trace::sort has run).
Result<Trace> read_kineto(std::unique_ptr<ByteSource> input, const ReadOptions& options = {});

}  // namespace eroica
