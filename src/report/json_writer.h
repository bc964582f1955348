#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace eroica {

/// Writes a JSON object as text, member after member: ASCII only, invalid UTF-8 replaced. A document of many ranks has
/// millions of values; as a tree of them it would take many times its text in memory, and most of the time of telling
/// what was found.
class JsonWriter {
 public:
  /// `indent` spaces a level; < 0: all in one line.
  explicit JsonWriter(int indent) : indent_(indent) { open('{'); }

  /// A value: text, truth, a number, those that may be absent (null), lists of them; or what can be called: it adds the
  /// members of an object.
  template <typename Value>
  void member(std::string_view name, const Value& value) {
    key(name);
    write(value);
  }
  /// An array of objects, the members of each added by `add(writer, row)`.
  template <typename Rows, typename Add>
  void array(std::string_view name, const Rows& rows, Add add) {
    key(name);
    open('[');
    for (const auto& row : rows) {
      begin_item();
      write([&] { add(*this, row); });
    }
    close(']');
  }
  /// The text of the object.
  std::string finish() {
    close('}');
    return std::move(text_);
  }

 private:
  void key(std::string_view name);
  void begin_item();
  void break_line();
  void open(char bracket);
  void close(char bracket);

  void write(std::string_view text);
  void write(const std::string& text) { write(std::string_view(text)); }
  void write(const char* text) { write(std::string_view(text)); }
  void write(std::nullptr_t) { text_ += "null"; }
  void write(double number);  // not a number: null
  void write(std::same_as<bool> auto is_true) { text_ += is_true ? "true" : "false"; }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void write(Number number) {
    std::array<char, 24> digits;
    text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }
  template <typename Value>
  void write(const std::optional<Value>& value) {
    value ? write(*value) : write(nullptr);
  }
  template <typename Value>
  void write(const std::vector<Value>& values) {
    open('[');
    for (const Value& value : values) {
      begin_item();
      write(value);
    }
    close(']');
  }
  void write(const std::invocable auto& add_members) {
    open('{');
    add_members();
    close('}');
  }

  std::string text_;
  int indent_;
  size_t depth_ = 0;
  bool is_empty_ = true;  // the innermost object or array
};

}  // namespace eroica
