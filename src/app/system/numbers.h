// Reads numbers that other programs of this user have written.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace h2server::app {

// Returns false if `text` is not one number of that type.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace h2server::app
