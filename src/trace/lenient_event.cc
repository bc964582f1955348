#include "trace/lenient_event.h"

#include <algorithm>

#include "trace/json_text.h"

namespace eroica {
namespace {

constexpr size_t kMaxKey = 100;

/// Something that looks like `, "key" :` or `{ "key" :`.
struct KeyMark {
  size_t begin = std::string_view::npos;  ///< the comma or brace
  std::string_view key;
  size_t value = 0;  ///< behind the colon
};

KeyMark find_key(std::string_view text, size_t from) {
  for (size_t at = from; at < text.size(); ++at) {
    if (text[at] != ',' && text[at] != '{') continue;
    size_t quote = at + 1;
    while (quote < text.size() && is_space(text[quote])) ++quote;
    if (quote >= text.size() || text[quote] != '"') {
      at = quote - 1;
      continue;
    }
    const size_t length = text.substr(quote + 1, kMaxKey).find_first_of("\"\\{}");
    if (length == std::string_view::npos || text[quote + 1 + length] != '"') continue;
    size_t colon = quote + length + 2;
    while (colon < text.size() && is_space(text[colon])) ++colon;
    if (colon < text.size() && text[colon] == ':') {
      return {at, text.substr(quote + 1, length), colon + 1};
    }
  }
  return {};
}

/// The value within the text between a key's colon and the next key.
std::string_view value_in(std::string_view text) {
  text = trim(text);
  if (text.empty()) return text;
  if (text.front() == '"') {
    const size_t close = text.rfind('"');
    return close > 0 ? text.substr(0, close + 1) : std::string_view();
  }
  if (text.front() == '[') {
    const size_t close = text.rfind(']');
    return close != std::string_view::npos ? text.substr(0, close + 1) : std::string_view();
  }
  return trim(text.substr(0, text.find_first_of(",}]")));
}

}  // namespace

void read_event_leniently(std::string_view text, RawEvent& event) {
  event.clear();
  event.repaired = true;
  bool in_args = false;
  KeyMark mark = find_key(text, 0);
  while (mark.begin != std::string_view::npos) {
    const KeyMark next = find_key(text, mark.value);
    const std::string_view between = text.substr(mark.value, std::min(next.begin, text.size()) - mark.value);
    if (!in_args && mark.key == "args" && trim(between).empty() && next.begin < text.size() &&
        text[next.begin] == '{') {
      in_args = true;
      event.args_object = text.substr(next.begin);
    } else {
      const std::string_view value = value_in(between);
      if (!value.empty()) {
        if (in_args) {
          event.set_arg(mark.key, value);
        } else {
          event.set_field(mark.key, value);
        }
      }
      if (trim(between).ends_with('}')) in_args = false;
    }
    mark = next;
  }
}

}  // namespace eroica
