// Fd: the sole owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace h2server::base {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) noexcept : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool valid() const noexcept { return number_ >= 0; }
  // Passes ownership to the caller.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }
  // Does not retry: Linux releases the descriptor even if close() fails.
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace h2server::base
