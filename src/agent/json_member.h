#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace eroica {

// Members of JSON objects that others wrote. A heavy header: for .cc files.

/// nullptr: there is none.
inline const nlohmann::json* member(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// Empty: there is none, or it is no text.
inline std::string text(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

/// `otherwise`: there is none, or it is no whole number of 64 bits.
inline int64_t integer(const nlohmann::json& object, const char* key, int64_t otherwise) {
  const nlohmann::json* value = member(object, key);
  if (value == nullptr || !value->is_number_integer()) return otherwise;
  if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return otherwise;
  }
  return value->get<int64_t>();
}

/// `otherwise`: there is none, or it is no number.
inline double number(const nlohmann::json& object, const char* key, double otherwise) {
  const nlohmann::json* value = member(object, key);
  return value != nullptr && value->is_number() ? value->get<double>() : otherwise;
}

/// False: it is anything but true.
inline bool flag(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = member(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace eroica
