// Collects the trailer section of a chunked request (RFC 9112, 7.1.2) while the body is decoded.
// The fields are stored in the exchange's arena. A request without trailers costs nothing.
#pragma once

#include <string>

#include "base/memory/arena.h"
#include "h2server/message.h"

namespace h2server::http::h1 {

class TrailerSection {
 public:
  // `arena` must outlive this. Before it is cleared: clear() or forget_fields().
  explicit TrailerSection(base::Arena& arena) noexcept : arena_(arena) {}

  // Adds the next byte of a field line, without the line's end. The caller has checked the syntax.
  void add(char c) { line_ += c; }
  // Keeps the line if it is allowed as a trailer field (RFC 9110, 6.5.1).
  void end_line();
  void forget_fields() noexcept { fields_.clear(); }
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
