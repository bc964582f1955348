#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace eroica {

/// Takes output piece by piece, in order. After an error nothing more is sent.
using ByteSink = std::function<Status(std::string_view bytes)>;

/// Compresses what it is given as one gzip member and hands it on. The same input gives the same bytes, however it was
/// cut into pieces.
class GzipSink {
 public:
  explicit GzipSink(ByteSink next);
  ~GzipSink();
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;

  /// Errors: the next sink's.
  Status write(std::string_view bytes);
  /// Ends the stream; to be called once, after the last write.
  Status finish();

 private:
  Status deflate(std::string_view bytes, bool last);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eroica
