#include "content/uploads/access/signed_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "base/text/base64.h"
#include "base/text/text.h"
#include "h2server/authorization.h"
#include "h2server/query.h"
#include "net/crypto/tls_hmac.h"

namespace h2server::content {

namespace {

constexpr std::size_t folders_max = 32;  // a link to one of these above a path is looked for

// RFC 4648, 5, without padding: nothing has to be escaped in a query.
std::string base64url(std::span<const unsigned char> bytes) {
  std::string text =
      base::encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.resize(std::min(text.find('='), text.size()));
  return text;
}

std::string_view without_last_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// Returns the folder of a path that doesn't end with a slash; empty for that of the root.
std::string_view signed_folder(std::string_view path) {
  return without_last_slashes(path.substr(0, path == "/" ? 0 : path.rfind('/') + 1));
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  const std::optional<std::uint64_t> time = base::parse_decimal(text);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!time || *time > most) return std::nullopt;
  return static_cast<std::int64_t>(*time);
}

}  // namespace

// The path comes last, and a host has no space, so the text is unambiguous.
std::string LinkSigner::signature(std::string_view path, LinkUse use, std::int64_t expires_s,
                                  std::string_view host) const {
  const std::string_view what = use == LinkUse::upload ? "upload" : "download";
  std::string text = host.empty() ? fmt::format("h2server link 1 {} {} ", what, expires_s)
                                  : fmt::format("h2server link 2 {} {} {} ", host, what, expires_s);
  text += without_last_slashes(path);
  return base64url(net::hmac_sha256(key_, text));
}

std::string LinkSigner::query_for(std::string_view path, LinkUse use, std::int64_t expires_s,
                                  std::string_view host) const {
  return fmt::format("expires={}&signature={}", expires_s, signature(path, use, expires_s, host));
}

LinkVerdict LinkSigner::check(std::string_view path, std::string_view query, LinkUse use,
                              std::int64_t now_s, std::string_view host) const {
  if (!query.contains("signature=")) return LinkVerdict::absent;
  const Parameters parameters(query);
  const std::optional<std::string_view> given = parameters.find("signature");
  if (!given) return LinkVerdict::absent;
  const std::optional<std::int64_t> expires_s =
      parse_time(parameters.find("expires").value_or(std::string_view()));
  if (!expires_s) return LinkVerdict::altered;
  path = without_last_slashes(path);
  bool good = equal_in_constant_time(*given, signature(path, use, *expires_s, host));
  if (use == LinkUse::upload) {
    for (std::size_t tries = 0; tries < folders_max && !good; ++tries) {
      path = signed_folder(path);
      if (path.empty()) break;
      good = equal_in_constant_time(*given, signature(path, use, *expires_s, host));
    }
  }
  if (!good) return LinkVerdict::altered;
  return now_s < *expires_s ? LinkVerdict::good : LinkVerdict::expired;
}

}  // namespace h2server::content
