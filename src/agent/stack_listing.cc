#include "agent/stack_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "pattern/python_path.h"

namespace eroica {
namespace {

constexpr size_t kMostThreads = 512;
constexpr size_t kMostFrames = 256;

/// `  File "PATH", line N in FUNCTION`
std::optional<StackFrame> frame_of(std::string_view line) {
  constexpr std::string_view kFront = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = " in ";
  if (!line.starts_with(kFront)) return std::nullopt;
  const size_t number = line.rfind(kLine);
  if (number == std::string_view::npos || number < kFront.size()) return std::nullopt;
  StackFrame frame;
  frame.file = line.substr(kFront.size(), number - kFront.size());
  const std::string_view rest = line.substr(number + kLine.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
  const std::string_view after = rest.substr(static_cast<size_t>(end - rest.data()));
  if (error != std::errc() || !after.starts_with(kIn)) return std::nullopt;
  frame.function = after.substr(kIn.size());
  return frame;
}

bool begins_thread(std::string_view line) {
  return (line.starts_with("Thread ") || line.starts_with("Current thread ")) && line.ends_with(":");
}

std::vector<std::vector<StackFrame>> threads_of(std::string_view listing) {
  std::vector<std::vector<StackFrame>> threads;
  while (!listing.empty()) {
    const size_t end = listing.find('\n');
    const std::string_view line = listing.substr(0, end);
    listing.remove_prefix(end == std::string_view::npos ? listing.size() : end + 1);
    if (begins_thread(line)) {
      if (threads.size() == kMostThreads) break;
      threads.emplace_back();
    } else if (std::optional<StackFrame> frame = frame_of(line)) {
      if (!threads.empty() && threads.back().size() < kMostFrames) threads.back().push_back(*std::move(frame));
    }
  }
  std::erase_if(threads, [](const auto& frames) { return frames.empty(); });
  return threads;
}

}  // namespace

std::vector<StackFrame> main_stack(std::string_view listing) {
  std::vector<std::vector<StackFrame>> threads = threads_of(listing);
  if (threads.empty()) return {};
  const auto program =
      std::ranges::find_if(threads, [](const auto& frames) { return frames.back().function == "<module>"; });
  return program != threads.end() ? std::move(*program) : std::move(threads.back());
}

size_t innermost_user_frame(const std::vector<StackFrame>& frames) {
  const auto user = std::ranges::find_if(
      frames, [](const StackFrame& frame) { return !canonical_python_path(frame.file).framework; });
  return static_cast<size_t>(user - frames.begin());
}

std::string in_words(const std::vector<StackFrame>& frames, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(frames.size(), most); ++i) {
    text += fmt::format("{}{}:{} in {}", i == 0 ? "" : " < ", canonical_python_path(frames[i].file).text,
                        frames[i].line, frames[i].function);
  }
  return frames.size() > most ? text + " < ..." : text;
}

}  // namespace eroica
