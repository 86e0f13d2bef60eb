// Errors as values. No exception crosses a layer of h2server.
#pragma once

#include <cstring>
#include <expected>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace h2server {

// Why an operation failed. `code` is an errno value, or 0 if no system call failed. `what` has
// static storage.
struct Error {
  int code = 0;
  std::string_view what;

  [[nodiscard]] std::string message() const {
    if (code == 0) return std::string(what);
    return what.empty() ? std::string(std::strerror(code))
                        : std::string(what) + ": " + std::strerror(code);
  }
};

template <class T, class E = Error>
using Result = std::expected<T, E>;

}  // namespace h2server
#pragma GCC visibility pop
