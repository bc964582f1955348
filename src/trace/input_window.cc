#include "trace/input_window.h"

#include <algorithm>
#include <cstring>

namespace eroica {
namespace {
constexpr size_t kPadding = 64;
}

InputWindow::InputWindow(ByteSource& source, size_t capacity) : source_(source), buffer_(capacity + kPadding) {}

void InputWindow::fill(size_t bytes) {
  if (size() >= bytes || ended_) return;
  if (begin_ + bytes + kPadding > buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
    if (bytes + kPadding > buffer_.size()) {
      buffer_.resize(std::max(bytes, buffer_.size() + buffer_.size() / 2) + kPadding);
    }
  }
  while (size() < bytes) {
    Result<size_t> got = source_.read({buffer_.data() + end_, buffer_.size() - kPadding - end_});
    if (!got.ok() || *got == 0) {
      if (!got.ok()) error_ = got.error();
      ended_ = true;
      return;
    }
    end_ += *got;
    total_ += *got;
  }
}

}  // namespace eroica
