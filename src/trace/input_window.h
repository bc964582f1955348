#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "trace/byte_source.h"

namespace eroica {

/// The part of a stream that is being looked at, contiguous in memory. Grows only as far as it is asked to.
class InputWindow {
 public:
  InputWindow(ByteSource& source, size_t capacity);

  /// Reads until at least `bytes` are in the window or the stream has ended. An error of the source ends the
  /// stream and is kept in error().
  void fill(size_t bytes);
  /// Drops bytes from the front.
  void consume(size_t bytes) { begin_ += bytes; }

  /// The front. data()[size()] is readable; pointers live until the next fill().
  [[nodiscard]] char* data() { return buffer_.data() + begin_; }
  [[nodiscard]] size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  /// Whether everything that the stream has is in the window or was consumed.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Where in the stream the front stands.
  [[nodiscard]] uint64_t offset() const { return total_ - size(); }
  /// Bytes taken from the stream so far.
  [[nodiscard]] uint64_t total() const { return total_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t total_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace eroica
