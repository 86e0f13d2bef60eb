// Checks what a program that uses the library passes to it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace h2server::http {

// Throws std::invalid_argument with the text unless `good`.
inline void require(bool good, std::string_view what) {
  if (!good) throw std::invalid_argument(std::string(what));
}

}  // namespace h2server::http
