#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace eroica {
namespace {

class NoProgress : public ProgressSink {
 public:
  void begin(uint64_t /*total_bytes*/, size_t /*files*/) override {}
  void advance(uint64_t /*bytes*/) override {}
  void file_done() override {}
  void end() override {}
};

class TerminalProgress : public ProgressSink {
 public:
  void begin(uint64_t total_bytes, size_t files) override {
    const std::lock_guard lock(guard_);
    total_bytes_ = total_bytes;
    files_ = files;
    started_ = drawn_ = Clock::now();
  }

  void advance(uint64_t bytes) override {
    const std::lock_guard lock(guard_);
    bytes_ += bytes;
    draw();
  }

  void file_done() override {
    const std::lock_guard lock(guard_);
    ++done_;
    draw();
  }

  void end() override {
    const std::lock_guard lock(guard_);
    if (visible_) std::fputs("\r\x1b[K", stderr);
    visible_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void draw() {
    const auto now = Clock::now();
    if (now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    visible_ = true;
    constexpr size_t kWidth = 24;
    const double part =
        total_bytes_ == 0 ? 1 : std::min(1.0, static_cast<double>(bytes_) / static_cast<double>(total_bytes_));
    const auto filled = static_cast<size_t>(part * kWidth);
    const double seconds = std::chrono::duration<double>(now - started_).count();
    const double left = part > 0.02 ? seconds / part - seconds : 0;
    const std::string line = fmt::format("\r[{}{}] {:3.0f} %  {} of {} files{}\x1b[K", std::string(filled, '='),
                                         std::string(kWidth - filled, ' '), part * 100, done_, files_,
                                         left >= 1 ? fmt::format("  {:.0f} s left", left) : "");
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  }

  std::mutex guard_;
  uint64_t total_bytes_ = 0;
  uint64_t bytes_ = 0;
  size_t files_ = 0;
  size_t done_ = 0;
  bool visible_ = false;
  Clock::time_point started_;
  Clock::time_point drawn_;
};

}  // namespace

bool is_dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
}

std::unique_ptr<ProgressSink> terminal_progress(bool quiet) {
  if (quiet || isatty(STDERR_FILENO) == 0 || is_dumb_terminal()) return std::make_unique<NoProgress>();
  return std::make_unique<TerminalProgress>();
}

}  // namespace eroica
