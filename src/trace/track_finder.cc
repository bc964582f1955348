#include "trace/track_finder.h"

#include <cstring>

#include "trace/json_text.h"

namespace eroica {
namespace {

constexpr std::string_view kOther = "(other)";
constexpr size_t kMaxIdBytes = 256;

/// From the last characters, in which ids differ.
uint32_t quick_hash(std::string_view id) {
  uint32_t end = 0;
  if (id.size() >= sizeof(end)) {
    std::memcpy(&end, id.data() + id.size() - sizeof(end), sizeof(end));
  } else {
    for (const char c : id) end = end << 8 | static_cast<unsigned char>(c);
  }
  return end;
}

size_t quick_hash(std::string_view pid, std::string_view tid, bool device) {
  return ((quick_hash(pid) * 31 + quick_hash(tid)) * 2 + (device ? 1 : 0)) * 0x9e3779b9U >> 26;
}

}  // namespace

std::string plain_id(std::string_view token) {
  std::string text;
  unescape(without_quotes(token), kMaxIdBytes, text);
  return text;
}

TrackFinder::Found TrackFinder::find(std::string_view pid, std::string_view tid, bool device) {
  Recent& recent = recent_[quick_hash(pid, tid, device) % recent_.size()];
  if (recent.used && recent.device == device && same_text(recent.tid, tid) && same_text(recent.pid, pid)) {
    return recent.found;
  }
  const Found found = find_or_make(pid, tid, device);
  if (pid.size() <= kMaxIdBytes && tid.size() <= kMaxIdBytes) {
    recent = {std::string(pid), std::string(tid), found, device, true};
  }
  return found;
}

int64_t TrackFinder::find_existing(std::string_view pid, std::string_view tid, bool device) {
  make_key(pid, tid, device);
  const auto found = by_key_.find(key_);
  return found == by_key_.end() ? -1 : int64_t{found->second};
}

TrackFinder::Found TrackFinder::find_or_make(std::string_view pid, std::string_view tid, bool device) {
  make_key(pid, tid, device);
  if (const auto found = by_key_.find(key_); found != by_key_.end()) return {found->second, false};
  const bool overflow = by_key_.size() + 1 >= kMaxTracks;
  if (overflow) {
    const std::string other = '"' + std::string(kOther) + '"';
    make_key(other, other, false);
    if (const auto found = by_key_.find(key_); found != by_key_.end()) return {found->second, true};
  }
  const auto index = static_cast<uint32_t>(tracks_.size());
  Track& track = tracks_.emplace_back();
  track.pid = overflow ? std::string(kOther) : plain_id(pid);
  track.tid = overflow ? std::string(kOther) : plain_id(tid);
  track.device = device && !overflow;
  by_key_.emplace(key_, index);
  return {index, overflow};
}

void TrackFinder::make_key(std::string_view pid, std::string_view tid, bool device) {
  key_ = plain_id(pid);
  key_.push_back('\n');  // cannot be part of an id: unescape() leaves no control characters
  key_ += plain_id(tid);
  key_.push_back(device ? '\n' : ' ');
}

}  // namespace eroica
