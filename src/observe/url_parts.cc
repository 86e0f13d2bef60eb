#include "observe/url_parts.h"

#include <algorithm>

#include "base/text/text.h"

namespace h2server::observe {

namespace {
constexpr std::size_t scheme_bytes_max = 32;
constexpr std::size_t port_digits_max = 5;

// Where the authority begins: behind "//" at the start or behind a scheme's colon; else at the
// start, as of "user:password@host".
std::size_t authority_at(std::string_view url) noexcept {
  const std::size_t slashes = url.find("//");
  if (slashes == url.npos) return 0;
  const bool marks = slashes == 0 || url[slashes - 1] == ':';
  return marks && url.find_first_of("/?#") == slashes ? slashes + 2 : 0;
}
}  // namespace

PublicUrl without_user_info(std::string_view url) noexcept {
  if (url.find('@') == url.npos) [[likely]]
    return {{}, url};
  const std::size_t start = authority_at(url);
  const std::string_view authority =
      url.substr(start, url.substr(start).find_first_of("/?#"));  // npos: to the end
  const std::size_t at = authority.rfind('@');
  if (at == authority.npos) return {{}, url};
  const std::string_view scheme = start <= scheme_bytes_max ? url.substr(0, start) : "";
  return {scheme, url.substr(start + at + 1)};
}

PathAndQuery split_query(std::string_view url) noexcept {
  const std::size_t mark = url.find('?');
  if (mark == url.npos) return {url, {}};
  return {url.substr(0, mark), url.substr(mark + 1)};
}

PathAndQuery split_target(std::string_view target) noexcept {
  if (target.starts_with('/')) [[likely]]
    return split_query(target);
  const std::size_t start = authority_at(target);
  if (start == 0) return split_query(without_user_info(target).rest);
  const std::size_t path = target.find_first_of("/?", start);
  PathAndQuery parts = path == target.npos ? PathAndQuery{} : split_query(target.substr(path));
  if (parts.path.empty()) parts.path = "/";
  return parts;
}

HostAndPort split_authority(std::string_view authority) noexcept {
  const std::size_t at = authority.rfind('@');
  if (at != authority.npos) authority.remove_prefix(at + 1);
  HostAndPort parts{authority, {}};
  const std::size_t colon = authority.rfind(':');
  if (colon != authority.npos && authority.size() - colon - 1 <= port_digits_max &&
      authority.find(':') >= (authority.starts_with('[') ? 0 : colon)) {
    const std::string_view digits = authority.substr(colon + 1);
    if (!digits.empty() && digits[0] != '0' && std::ranges::all_of(digits, base::is_digit)) {
      parts = {authority.substr(0, colon), digits};
    }
  }
  if (parts.host.size() >= 2 && parts.host.starts_with('[') && parts.host.ends_with(']')) {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  return parts;
}

}  // namespace h2server::observe
