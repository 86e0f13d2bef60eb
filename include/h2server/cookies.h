// Cookies: those of a request, and SetCookie: one that a response sets (RFC 6265bis).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/message.h"

#pragma GCC visibility push(default)
namespace h2server {

// The cookies of a request's Cookie field lines, of which HTTP/2 may have several (RFC
// 9113, 8.2.3). Request::cookies() makes them. The views are valid until the exchange ends.
//
// Tolerant: any text between semicolons is a cookie. Without '=' it is a value without a name, as
// for browsers (RFC 6265bis, 5.6). Nothing is decoded, and quotes around a value belong to it.
class Cookies {
 public:
  explicit Cookies(const Fields& fields);

  // Returns the value of the first cookie with that name: browsers send the one with the longest
  // path first (RFC 6265bis, 5.8.3). Names are case-sensitive.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] auto begin() const noexcept { return items_.begin(); }
  [[nodiscard]] auto end() const noexcept { return items_.end(); }

 private:
  std::vector<Field> items_;
};

enum class SameSite : std::uint8_t { strict, lax, none };

// RFC 6265bis, 4.1. The defaults suit a session: sent to the whole host, hidden from scripts, not
// sent with requests that other sites cause, except for links.
struct SetCookie {
  std::string name;
  std::string value = {};   // ASCII without blanks, quotes inside, commas, semicolons, '\'
  std::string path = "/";   // empty: the folder of the request's path
  std::string domain = {};  // with its subdomains; empty: only the host that sets it
  std::optional<std::int64_t> max_age_s =
      {};  // 0 deletes the cookie; unset: until the browser ends
  std::optional<std::int64_t> expires_s = {};  // since 1970; browsers prefer max_age_s
  bool secure = false;                         // only over TLS: set it on every server that has TLS
  bool http_only = true;                       // scripts can't read it
  std::optional<SameSite> same_site = SameSite::lax;
  bool partitioned = false;  // separate for each top-level site (CHIPS); needs `secure`
};

// Returns the value of a Set-Cookie field. Throws std::invalid_argument for a cookie that can't be
// sent or that browsers discard: an invalid name, value or attribute, a name and a value of more
// than 4096 bytes, SameSite=None or Partitioned without Secure, and a name that begins with
// "__Secure-" or "__Host-" without what that promises (RFC 6265bis, 4.1.3).
[[nodiscard]] std::string to_field(const SetCookie& cookie);

}  // namespace h2server
#pragma GCC visibility pop
