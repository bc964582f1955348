#include "report/text_style.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace eroica {
namespace {

struct ClassLook {
  std::string_view word;
  char letter;
  std::string_view color;
};

ClassLook look(TimeClass time_class) {
  switch (time_class) {
    case TimeClass::kCompute:
      return {"compute", 'c', "32"};
    case TimeClass::kMemory:
      return {"memory", 'm', "36"};
    case TimeClass::kCommunication:
      return {"network", 'n', "34"};
    case TimeClass::kDataloader:
      return {"data", 'd', "33"};
    case TimeClass::kPython:
      return {"python", 'p', "35"};
    case TimeClass::kLaunch:
      return {"launch", 'l', "31"};
    case TimeClass::kSync:
      return {"sync", 's', "91"};
    case TimeClass::kIdle:
      break;
  }
  return {"idle", '.', "90"};
}

/// Length of the valid UTF-8 sequence at the front, 0 where there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf0 && byte(1) < 0x90) ||
      (lead == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  return length;
}

/// C1 controls and the marks that turn, join or hide text; a name has no use for them.
bool is_hidden(std::string_view sequence) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (sequence.size() != 3 || byte(0) != 0xe2) return false;
  if (byte(1) == 0x81) return byte(2) >= 0xa0;
  return byte(1) == 0x80 && ((byte(2) >= 0x8b && byte(2) <= 0x8f) || (byte(2) >= 0xa8 && byte(2) <= 0xae));
}

/// Byte offset of the code point `count` from the front.
size_t offset_of(std::string_view text, size_t count) {
  size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
    --count;
  }
  return at;
}

}  // namespace

std::string_view class_word(TimeClass time_class) { return look(time_class).word; }
char class_letter(TimeClass time_class) { return look(time_class).letter; }

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string TextStyle::painted(std::string_view code, std::string_view text) const {
  return color && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string TextStyle::of_class(TimeClass time_class, std::string_view text) const {
  return painted(look(time_class).color, text);
}

std::string TextStyle::clean(std::string_view text) const {
  std::string result;
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(sequence.size());
    const auto lead = static_cast<unsigned char>(sequence[0]);
    if (lead < 0x20 || lead == 0x7f) {
      result += ' ';
    } else if (length == 0 || (length > 1 && (!utf8 || is_hidden(sequence)))) {
      result += !utf8 && sequence == "…" ? "..." : "?";
    } else {
      result += sequence;
    }
  }
  return result;
}

std::string TextStyle::cut_end(const std::string& text, size_t width) const {
  if (display_width(text) <= width) return text;
  const size_t mark = display_width(ellipsis());
  if (width <= mark) return text.substr(0, offset_of(text, width));
  return text.substr(0, offset_of(text, width - mark)) + std::string(ellipsis());
}

std::string TextStyle::cut_front(const std::string& text, size_t width) const {
  const size_t length = display_width(text);
  if (length <= width) return text;
  const size_t mark = display_width(ellipsis());
  if (width <= mark) return text.substr(0, offset_of(text, width));
  return std::string(ellipsis()) + text.substr(offset_of(text, length - width + mark));
}

std::string TextStyle::bar(std::span<const double, kTimeClassCount> values, double full, size_t width) const {
  std::string result;
  double sum = 0;
  size_t drawn = 0;
  for (size_t c = 0; c < kTimeClassCount && full > 0; ++c) {
    sum += std::max(values[c], 0.0);
    const double end = std::round(std::min(sum / full, 1.0) * static_cast<double>(width));
    const auto time_class = static_cast<TimeClass>(c);
    std::string part;
    for (; drawn < static_cast<size_t>(end); ++drawn) {
      if (color && utf8) {
        part += "█";
      } else {
        part += class_letter(time_class);
      }
    }
    result += of_class(time_class, part);
  }
  return result;
}

std::string TextStyle::sparkline(std::span<const double> values) const {
  static constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::string_view kAscii = "_.:-=+*#";
  if (values.empty()) return "";
  const double most = std::ranges::max(values);
  std::string line;
  for (const double value : values) {
    const double part = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
    const auto level = static_cast<size_t>(std::lround(part * 7));
    if (utf8) {
      line += kBlocks[level];
    } else {
      line += kAscii[level];
    }
  }
  return line;
}

}  // namespace eroica
