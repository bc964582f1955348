#include "trace/event_extent.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <string_view>

#include "trace/json_text.h"

namespace eroica {
namespace {

// A sign is looked for within this many bytes, so it looks the same however the stream is cut into reads.
constexpr size_t kLookahead = size_t{4} << 10;
constexpr size_t kMaxSpace = 1000;
constexpr size_t kMaxKey = 100;
constexpr size_t kReadStep = size_t{64} << 10;

/// What the text behind a closing brace says.
enum class Sign { kNone, kNextEvent, kNextObject, kEndOfEvents };

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// A short look at text that may end anywhere.
class Peek {
 public:
  Peek(std::string_view text, bool whole) : text_(text), whole_(whole) {}

  bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// `"key" :`, where the key begins like a word: so if the first quote ends a string instead, the text cannot be
  /// JSON. Empty when there is none.
  std::string_view take_key() {
    if (!take('"')) return {};
    const size_t length = text_.substr(0, kMaxKey).find('"');
    if (length == std::string_view::npos || length == 0 || !is_letter(text_.front())) return {};
    const std::string_view key = text_.substr(0, length);
    if (key.find('\\') != std::string_view::npos) return {};
    text_.remove_prefix(length + 1);
    return take(':') ? key : std::string_view();
  }
  bool at_end() {
    skip_space();
    return whole_ && text_.empty();
  }
  [[nodiscard]] std::string_view rest() const { return text_; }

 private:
  void skip_space() {
    for (size_t i = 0; i < kMaxSpace && !text_.empty() && is_space(text_.front()); ++i) text_.remove_prefix(1);
  }

  std::string_view text_;
  bool whole_;
};

bool is_event_key(std::string_view key) {
  constexpr std::array<std::string_view, 11> kKeys{"ph",  "cat", "name", "pid", "tid", "ts",
                                                   "dur", "id",  "args", "s",   "bp"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

/// `text` is what follows a closing brace; `whole`: it reaches to the end of the stream.
Sign sign_after_brace(std::string_view text, bool whole) {
  Peek peek(text, whole);
  if (peek.take(',')) {
    if (!peek.take('{')) return Sign::kNone;
    const std::string_view key = peek.take_key();
    if (!is_event_key(key)) return Sign::kNone;
    // Objects in an array inside args may begin like this too, but they have no phase.
    const std::string_view flat = peek.rest().substr(0, std::min<size_t>(peek.rest().find_first_of("{}[]"), 300));
    return key == "ph" || flat.find("\"ph\"") != std::string_view::npos ? Sign::kNextEvent : Sign::kNextObject;
  }
  if (!peek.take(']')) return Sign::kNone;
  if (peek.at_end()) return Sign::kEndOfEvents;
  if (peek.take('}')) return peek.at_end() ? Sign::kEndOfEvents : Sign::kNone;
  return peek.take(',') && !peek.take_key().empty() ? Sign::kEndOfEvents : Sign::kNone;
}

Sign sign_at(InputWindow& window, size_t brace) {
  const std::string_view text(window.data() + brace + 1, window.size() - brace - 1);
  return sign_after_brace(text.substr(0, kLookahead), window.ended() && text.size() <= kLookahead);
}

/// Makes the byte at `at` and what a sign needs behind it available; false when the stream ends before `at`.
bool available(InputWindow& window, size_t at) {
  if (at + kLookahead < window.size()) return true;
  window.fill(at + kLookahead + kReadStep);
  return at < window.size();
}

/// The brackets that are open. What nobody nests as deeply in earnest is taken for objects.
class Brackets {
 public:
  void open(bool object) {
    if (depth_ < kMaxKnown) objects_[depth_] = object;
    ++depth_;
  }
  void close() { --depth_; }
  [[nodiscard]] size_t depth() const { return depth_; }
  [[nodiscard]] bool in_object() const { return depth_ > 0 && (depth_ > kMaxKnown || objects_[depth_ - 1]); }

 private:
  static constexpr size_t kMaxKnown = 1024;
  std::bitset<kMaxKnown> objects_;
  size_t depth_ = 0;
};

constexpr std::array<bool, 256> kMatters = [] {
  std::array<bool, 256> matters{};
  for (const char c : {'"', '\\', '{', '}', '[', ']'}) matters[static_cast<unsigned char>(c)] = true;
  return matters;
}();

}  // namespace

Extent measure_element(InputWindow& window) {
  Brackets brackets;
  bool in_string = false;
  size_t at = 0;
  while (available(window, at)) {
    if (at >= kMaxEventBytes) return {Extent::Kind::kTooLong, at};
    const char* text = window.data();
    const size_t stop = window.ended() ? window.size() : window.size() - kLookahead;
    const size_t limit = std::min(stop, kMaxEventBytes);
    for (; at < limit; ++at) {
      const char c = text[at];
      if (!kMatters[static_cast<unsigned char>(c)]) continue;
      if (c == '\\') {
        // Outside strings as well, where only quotes can be escaped: JsonIndex sees it so, and the two must agree.
        if (in_string || text[at + 1] == '"' || text[at + 1] == '\\') ++at;
        continue;
      }
      if (in_string) {
        if (c == '"') in_string = false;
        // In a valid string no quote follows unescaped, and each of these signs holds one or ends the stream.
        if (c == '}' && sign_at(window, at) != Sign::kNone) return {Extent::Kind::kDamaged, at + 1};
        continue;
      }
      if (c == '"') in_string = true;
      if (c == '{' || c == '[') brackets.open(c == '{');
      if (c == '}' || c == ']') {
        brackets.close();
        if (brackets.depth() == 0) return {Extent::Kind::kWhole, at + 1};
      }
      if (c == '}') {
        const Sign sign = sign_at(window, at);
        // Inside an object no object can follow a comma; inside an array one can, but not an event.
        if (sign == Sign::kNextEvent || (sign != Sign::kNone && brackets.in_object())) {
          return {Extent::Kind::kDamaged, at + 1};
        }
      }
    }
  }
  return {Extent::Kind::kCutOff, window.size()};
}

namespace {

Extent find_sign(InputWindow& window, size_t from, size_t limit) {
  for (size_t at = from; available(window, at); ++at) {
    if (at >= limit) return {Extent::Kind::kTooLong, at};
    const size_t stop = window.ended() ? window.size() : window.size() - kLookahead;
    const auto* brace = static_cast<const char*>(std::memchr(window.data() + at, '}', stop - at));
    if (brace == nullptr) {
      at = stop - 1;
      continue;
    }
    at = static_cast<size_t>(brace - window.data());
    if (sign_at(window, at) != Sign::kNone) return {Extent::Kind::kDamaged, at + 1};
  }
  return {Extent::Kind::kCutOff, window.size()};
}

}  // namespace

Extent measure_damaged(InputWindow& window, size_t from) {
  return find_sign(window, from > 0 ? from - 1 : 0, kMaxEventBytes);
}

bool skip_to_next_event(InputWindow& window) {
  while (true) {
    const Extent extent = find_sign(window, 0, kReadStep);
    window.consume(extent.bytes);
    if (extent.kind == Extent::Kind::kDamaged) return true;
    if (extent.kind == Extent::Kind::kCutOff) return false;
  }
}

char next_visible(InputWindow& window, size_t from) {
  for (size_t at = from;; ++at) {
    if (at >= window.size()) window.fill(at + 1);
    if (at >= window.size() || at > from + kMaxEventBytes) return '\0';
    if (!is_space(window.data()[at])) return window.data()[at];
  }
}

}  // namespace eroica
