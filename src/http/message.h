// Names of methods and statuses, and error pages.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "h2server/message.h"
#include "h2server/response.h"

namespace h2server::http {

// Returns Method::unknown for a method that this server does not support. Case-sensitive.
Method parse_method(std::string_view name) noexcept;
std::string_view method_name(Method method) noexcept;

// Returns the reason phrase, or "Unknown" for a status without one.
std::string_view reason_phrase(int status) noexcept;

// Returns true if a response with that status may have content: not 1xx, 204 or 304 (RFC 9110,
// 6.4.1), nor 205 (15.3.6).
constexpr bool may_have_content(int status) noexcept {
  return status >= 200 && status != 204 && status != 205 && status != 304;
}

// Returns false if the response's body is known to be empty. Less than Response::size(), whose
// result GCC 12 passes through memory in pieces, which stalls.
inline bool may_have_bytes(const Response& response) noexcept {
  const Response::Body& body = response.body();
  if (const auto* const part = std::get_if<Response::FilePart>(&body)) return part->count != 0;
  if (const auto* const text = std::get_if<std::string>(&body)) return !text->empty();
  const auto* const streamed = std::get_if<Response::Streamed>(&body);
  return streamed != nullptr && streamed->size != 0;
}

// Returns a small HTML page that names the error.
Response error_response(int status);
// Returns true if the body is that of error_response(), which an error handler may replace.
bool has_standard_page(const Response& response);

}  // namespace h2server::http
