#pragma once

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

/// False: it is anything but true.
inline bool flag(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = member(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace eroica
