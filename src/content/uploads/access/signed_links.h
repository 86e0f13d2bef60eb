// LinkSigner: makes and checks links that expire. A link is a path with
// "?expires=UNIX&signature=…", where the signature is an HMAC-SHA-256 of the host, the path, the
// use and the time, so who has the link can change none of them.
//
// Immutable, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace h2server::content {

enum class LinkUse : std::uint8_t {
  download,  // GET of that path
  upload,    // uploads to that folder and to those below it
};

enum class LinkVerdict : std::uint8_t {
  absent,  // the query has no signature
  good,
  expired,  // it was good
  altered,  // another path, use or time, or not signed with this key
};

class LinkSigner {
 public:
  using Key = std::array<unsigned char, 32>;

  explicit LinkSigner(const Key& key) noexcept : key_(key) {}

  // Returns "expires=UNIX&signature=…" for a percent-decoded path. A slash at its end doesn't
  // count. The link is good at that host, whose name is in lower case and without a port; if it is
  // empty, at the site that has no name.
  [[nodiscard]] std::string query_for(std::string_view path, LinkUse use, std::int64_t expires_s,
                                      std::string_view host = {}) const;

  // `query` is as received, and may have other parameters. The comparison takes constant time.
  [[nodiscard]] LinkVerdict check(std::string_view path, std::string_view query, LinkUse use,
                                  std::int64_t now_s, std::string_view host = {}) const;

 private:
  [[nodiscard]] std::string signature(std::string_view path, LinkUse use, std::int64_t expires_s,
                                      std::string_view host) const;

  Key key_;
};

}  // namespace h2server::content
