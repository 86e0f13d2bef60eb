#include "http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "http/fields/syntax.h"

namespace h2server {

std::optional<std::string_view> Fields::find(std::string_view name) const noexcept {
  for (const Field& line : lines_) {
    if (http::equals_ignoring_case(line.name, name)) return line.value;
  }
  return std::nullopt;
}

std::optional<std::string_view> PathParams::find(std::string_view name) const noexcept {
  for (const Field& item : items_) {
    if (item.name == name) return item.value;
  }
  return std::nullopt;
}

}  // namespace h2server

namespace h2server::http {

namespace {

constexpr std::array<std::string_view, method_count> method_names = {
    "GET",  "HEAD",  "POST",     "PUT",       "DELETE", "PATCH",  "OPTIONS", "MOVE",
    "COPY", "MKCOL", "PROPFIND", "PROPPATCH", "LOCK",   "UNLOCK", "QUERY"};

struct Phrase {
  int status;
  std::string_view text;
};
// RFC 9110, 15, unless another RFC is named. Sorted by status.
constexpr std::array phrases = std::to_array<Phrase>({
    {100, "Continue"},
    {103, "Early Hints"},                  // RFC 8297
    {104, "Upload Resumption Supported"},  // draft-ietf-httpbis-resumable-upload
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},  // RFC 4918
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},                           // RFC 4918
    {424, "Failed Dependency"},                // RFC 4918
    {429, "Too Many Requests"},                // RFC 6585
    {431, "Request Header Fields Too Large"},  // RFC 6585
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},  // RFC 4918
});

}  // namespace

Method parse_method(std::string_view name) noexcept {
  for (std::size_t i = 0; i < method_names.size(); ++i) {
    if (method_names[i] == name) return static_cast<Method>(i);
  }
  return Method::unknown;
}

std::string_view method_name(Method method) noexcept {
  const auto index = static_cast<std::size_t>(method);
  return index < method_names.size() ? method_names[index] : "unknown";
}

std::string_view reason_phrase(int status) noexcept {
  const auto* const found = std::ranges::lower_bound(phrases, status, {}, &Phrase::status);
  return found != phrases.end() && found->status == status ? found->text : "Unknown";
}

namespace {

std::string standard_page(int status) {
  return fmt::format("<!doctype html>\n<html lang=\"en\"><title>{0} {1}</title>\n"
                     "<h1>{0} {1}</h1>\n<p>h2server</p>\n</html>\n",
                     status, reason_phrase(status));
}

}  // namespace

Response error_response(int status) {
  Response response(status, standard_page(status), "text/html; charset=utf-8");
  response.add("X-Content-Type-Options", "nosniff");
  return response;
}

bool has_standard_page(const Response& response) {
  const auto* const text = std::get_if<std::string>(&response.body());
  return response.status() >= 400 && text != nullptr && *text == standard_page(response.status());
}

}  // namespace h2server::http
