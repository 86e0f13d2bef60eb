#include "http/h2/hpack/token.h"

#include <array>

#include "http/h2/hpack/bytes.h"

namespace h2server::http::h2::hpack {

namespace {

struct Name {
  std::string_view text;
  Token token;
};

constexpr std::array names = {
    Name{":authority", Token::authority},
    Name{":method", Token::method},
    Name{":path", Token::path},
    Name{":scheme", Token::scheme},
    Name{":status", Token::status},
    Name{"accept-charset", Token::accept_charset},
    Name{"accept-encoding", Token::accept_encoding},
    Name{"accept-language", Token::accept_language},
    Name{"accept-ranges", Token::accept_ranges},
    Name{"accept", Token::accept},
    Name{"access-control-allow-origin", Token::access_control_allow_origin},
    Name{"age", Token::age},
    Name{"allow", Token::allow},
    Name{"authorization", Token::authorization},
    Name{"cache-control", Token::cache_control},
    Name{"content-disposition", Token::content_disposition},
    Name{"content-encoding", Token::content_encoding},
    Name{"content-language", Token::content_language},
    Name{"content-length", Token::content_length},
    Name{"content-location", Token::content_location},
    Name{"content-range", Token::content_range},
    Name{"content-type", Token::content_type},
    Name{"cookie", Token::cookie},
    Name{"date", Token::date},
    Name{"etag", Token::etag},
    Name{"expect", Token::expect},
    Name{"expires", Token::expires},
    Name{"from", Token::from},
    Name{"host", Token::host},
    Name{"if-match", Token::if_match},
    Name{"if-modified-since", Token::if_modified_since},
    Name{"if-none-match", Token::if_none_match},
    Name{"if-range", Token::if_range},
    Name{"if-unmodified-since", Token::if_unmodified_since},
    Name{"last-modified", Token::last_modified},
    Name{"link", Token::link},
    Name{"location", Token::location},
    Name{"max-forwards", Token::max_forwards},
    Name{"proxy-authenticate", Token::proxy_authenticate},
    Name{"proxy-authorization", Token::proxy_authorization},
    Name{"range", Token::range},
    Name{"referer", Token::referer},
    Name{"refresh", Token::refresh},
    Name{"retry-after", Token::retry_after},
    Name{"server", Token::server},
    Name{"set-cookie", Token::set_cookie},
    Name{"strict-transport-security", Token::strict_transport_security},
    Name{"transfer-encoding", Token::transfer_encoding},
    Name{"user-agent", Token::user_agent},
    Name{"vary", Token::vary},
    Name{"via", Token::via},
    Name{"www-authenticate", Token::www_authenticate},
    Name{":protocol", Token::protocol},
    Name{"connection", Token::connection},
    Name{"keep-alive", Token::keep_alive},
    Name{"proxy-connection", Token::proxy_connection},
    Name{"upgrade", Token::upgrade},
    Name{"te", Token::te},
    Name{"priority", Token::priority},
};
static_assert(names.size() + 2 == token_count);

// A perfect hash: no two names share a slot. The factor was found by trial. The assertion below
// fails if a new name needs another one.
constexpr std::size_t slot_of(std::string_view name) noexcept {
  const auto letter = [name](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(name[i]));
  };
  const std::uint32_t key = static_cast<std::uint32_t>(name.size()) | letter(0) << 8 |
                            letter(name.size() / 2) << 16 | letter(name.size() - 1) << 24;
  return (key * 0x17788b95U) >> 24;
}

constexpr std::size_t slot_count = 256;
constexpr std::array<Name, slot_count> slots = [] {
  std::array<Name, slot_count> made{};
  for (const Name& name : names) made[slot_of(name.text)] = name;
  return made;
}();

static_assert([] {
  for (const Name& name : names) {
    if (slots[slot_of(name.text)].token != name.token) return false;
  }
  return true;
}());

}  // namespace

Token token_of(std::string_view name) noexcept {
  if (name.empty()) return Token::none;
  const Name& known = slots[slot_of(name)];
  if (known.text.size() == name.size() && same_bytes(known.text.data(), name.data(), name.size())) {
    return known.token;
  }
  return name.front() == ':' ? Token::other_pseudo : Token::none;
}

}  // namespace h2server::http::h2::hpack
