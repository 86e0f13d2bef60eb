// The fields of every response, in both protocols, of handlers and of whole files. One more is one
// more line here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "h2server/message.h"

namespace h2server::http {

struct CommonField {
  std::string_view name;  // as HTTP/1.1 has it
  Field field;            // as HTTP/2 has it: in lower case
};

inline constexpr std::array common_fields = {CommonField{"Server", {"server", "h2server"}}};

namespace detail {

consteval std::size_t common_lines_size() {
  std::size_t size = 0;
  for (const CommonField& one : common_fields) {
    size += one.name.size() + one.field.value.size() + 4;
  }
  return size;
}

consteval std::array<char, common_lines_size()> common_lines() {
  std::array<char, common_lines_size()> lines{};
  char* next = lines.data();
  for (const CommonField& one : common_fields) {
    for (const std::string_view text :
         {one.name, std::string_view(": "), one.field.value, std::string_view("\r\n")}) {
      next = std::ranges::copy(text, next).out;
    }
  }
  return lines;
}

inline constexpr auto lines = common_lines();

}  // namespace detail

// "Name: value", each with its line end.
inline constexpr std::string_view common_lines{detail::lines.data(), detail::lines.size()};

}  // namespace h2server::http
