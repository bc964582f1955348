#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace eroica {

/// Appends JSON by hand: traces are long, and every piece is known to need no escapes.
class JsonText {
 public:
  JsonText& operator<<(std::string_view text) {
    text_.append(text);
    return *this;
  }
  JsonText& operator<<(char c) {
    text_.push_back(c);
    return *this;
  }
  template <typename Integer>
    requires std::is_integral_v<Integer>
  JsonText& operator<<(Integer number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    text_.append(digits, end);
    return *this;
  }
  /// Microseconds with three decimals, as Kineto writes times.
  JsonText& time(int64_t ns) {
    if (ns < 0) {
      text_.push_back('-');
      ns = -ns;
    }
    *this << ns / 1000;
    const auto rest = static_cast<int>(ns % 1000);
    text_.push_back('.');
    text_.push_back(static_cast<char>('0' + rest / 100));
    text_.push_back(static_cast<char>('0' + rest / 10 % 10));
    text_.push_back(static_cast<char>('0' + rest % 10));
    return *this;
  }
  /// At most `digits` significant ones.
  JsonText& number(double value, int digits = 6) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
    text_.append(text, end);
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }
  [[nodiscard]] size_t size() const { return text_.size(); }
  void reserve(size_t bytes) { text_.reserve(bytes); }

 private:
  std::string text_;
};

}  // namespace eroica
