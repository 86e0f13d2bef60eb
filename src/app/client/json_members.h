// Reads members of JSON objects, without exceptions. Any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace h2server::app {

// Returns null if there is no such member, or if `object` is no object.
inline const nlohmann::json* member_of(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

// Returns an empty string if there is no such member, or if it is no string.
inline std::string text_of(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const value = member_of(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace h2server::app
