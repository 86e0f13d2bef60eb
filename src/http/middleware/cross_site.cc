#include "http/middleware/cross_site.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "http/fields/syntax.h"
#include "http/fields/target.h"

namespace h2server::http {

namespace {

// The field lines of one name.
struct Lines {
  std::size_t count = 0;
  std::string_view first;  // its value
};

Lines lines_of(const RequestHead& head, std::string_view name) {
  Lines found;
  for (const Field& field : head.fields) {
    if (!equals_ignoring_case(field.name, name)) continue;
    if (found.count++ == 0) found.first = field.value;
  }
  return found;
}

// `origin` is serialised as in RFC 6454, 6.2. Returns false for "null".
bool is_own_origin(std::string_view origin, const RequestHead& head) {
  const std::string_view scheme = head.encrypted ? "https://" : "http://";
  if (!equals_ignoring_case(origin.substr(0, scheme.size()), scheme)) return false;
  const std::optional<Authority> theirs = parse_authority(origin.substr(scheme.size()));
  const std::optional<Authority> ours = parse_authority(head.authority);
  if (!theirs || !ours) return false;
  const std::uint16_t usual_port = head.encrypted ? 443 : 80;
  return equals_ignoring_case(theirs->host, ours->host) &&
         theirs->port.value_or(usual_port) == ours->port.value_or(usual_port);
}

}  // namespace

bool is_cross_site(const RequestHead& head) {
  const Lines site = lines_of(head, "sec-fetch-site");
  if (site.count > 0) {
    return site.count > 1 || (site.first != "same-origin" && site.first != "none");
  }
  const Lines origin = lines_of(head, "origin");
  if (origin.count == 0) return false;
  return origin.count > 1 || !is_own_origin(origin.first, head);
}

}  // namespace h2server::http
