#include "report/json_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace eroica {
namespace {

bool stands_for_itself(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

}  // namespace

void JsonWriter::break_line() {
  if (indent_ < 0) return;
  text_ += '\n';
  text_.append(depth_ * static_cast<size_t>(indent_), ' ');
}

void JsonWriter::begin_item() {
  if (!std::exchange(is_empty_, false)) text_ += ',';
  break_line();
}

void JsonWriter::key(std::string_view name) {
  begin_item();
  write(name);
  text_ += indent_ < 0 ? ":" : ": ";
}

void JsonWriter::open(char bracket) {
  text_ += bracket;
  ++depth_;
  is_empty_ = true;
}

void JsonWriter::close(char bracket) {
  --depth_;
  if (!std::exchange(is_empty_, false)) break_line();
  text_ += bracket;
}

void JsonWriter::write(std::string_view text) {
  if (!std::ranges::all_of(text, stands_for_itself)) {
    text_ += nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return;
  }
  text_ += '"';
  text_ += text;
  text_ += '"';
}

void JsonWriter::write(double number) {
  if (!std::isfinite(number)) return write(nullptr);
  std::array<char, 64> digits;
  text_.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), number));
}

}  // namespace eroica
