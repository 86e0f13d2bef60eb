// The trailer section of a chunked request (RFC 9112, 7.1.2): collected while the body is decoded,
// in the exchange's arena. Costs nothing where there is none.
#pragma once

#include <string>

#include "base/arena.h"
#include "h2server/message.h"

namespace h2server::http::h1 {

class TrailerSection {
 public:
  // The arena outlives it and is cleared together with it.
  explicit TrailerSection(base::Arena& arena) noexcept : arena_(arena) {}

  // The next byte of a field line, whose syntax has been checked, without the line's end.
  void add(char c) { line_ += c; }
  // Keeps the line, unless it may not be a trailer field (RFC 9110, 6.5.1).
  void end_line();
  void clear() noexcept {
    line_.clear();
    fields_.clear();
  }

  // Names are in lower case, as in HTTP/2.
  [[nodiscard]] const Fields& fields() const noexcept { return fields_; }

 private:
  base::Arena& arena_;
  std::string line_;
  Fields fields_;
};

}  // namespace h2server::http::h1
