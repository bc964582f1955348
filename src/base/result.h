#pragma once

#include <string>
#include <utility>
#include <variant>

namespace eroica {

/// What went wrong, in words for the user: names the input, the place in it and what to do.
struct Error {
  enum class Kind {
    kNotFound,
    kUnreadable,   ///< the file exists but cannot be read (permissions, I/O error, not a regular file)
    kNotATrace,    ///< readable, but its content is nothing that this reader knows
    kAmbiguous,    ///< the input can be understood in several ways
    kInvalid,      ///< an argument or a document breaks its contract
    kUnsupported,  ///< understood, but made by a version or a tool that is not supported
    kWrite,        ///< an output could not be written
  };
  Kind kind = Kind::kInvalid;
  std::string message;
};

/// A value or an Error. `ok()` must be tested before `value()` or `error()` is taken.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return std::get<T>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<T>(state_); }
  [[nodiscard]] T&& value() && { return std::get<T>(std::move(state_)); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or an Error.
using Status = Result<std::monostate>;
inline Status ok_status() { return std::monostate{}; }

}  // namespace eroica
