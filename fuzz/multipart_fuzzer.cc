// Fuzzer of the multipart/form-data parser. The first line of an input is a Content-Type value, the
// rest is the body. The whole input is also checked as a file name.
#include <optional>
#include <string>

#include "content/uploads/receive/multipart.h"
#include "fuzzer.h"
#include "multipart_rules.h"
#include "part_names.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

// RFC 2046, 5.1.1.
void require_sound_boundary(const std::string& boundary) {
  constexpr std::string_view others = "'()+_,-./:=? ";
  require(!boundary.empty() && boundary.size() <= 70, "a boundary has 1 to 70 characters");
  require(!boundary.ends_with(' '), "a boundary does not end with a space");
  for (const char c : boundary) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    require(alphanumeric || others.contains(c), "a boundary consists of bchars");
  }
  const std::string again = "multipart/form-data; boundary=\"" + boundary + '"';
  require(content::multipart_boundary(again) == boundary, "a boundary in quotes is the same");
}

}  // namespace

void check(std::string_view input) {
  require_safe_file_name(input);
  const std::size_t line = input.find('\n');
  const std::optional<std::string> boundary = content::multipart_boundary(input.substr(0, line));
  if (!boundary) return;
  require_sound_boundary(*boundary);
  if (line == std::string_view::npos) return;
  const std::string_view body = input.substr(line + 1);
  check_multipart(*boundary, body, Cuts::chosen_by(input), {});
  // Small enough for inputs to reach the limit.
  check_multipart(*boundary, body, Cuts::chosen_by(input), {.head_bytes_max = 60});
}

}  // namespace h2server::fuzz
