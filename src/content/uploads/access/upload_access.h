// UploadAccess: who may list, read, upload and manage the files of an upload area. The middleware
// of its routes ask for a token or a signed link.
//
// A token comes as Bearer (RFC 6750), as the password of any user (RFC 7617), as a cookie, or as
// "?token=" in the URL; a browser is then sent the cookie and the URL without it. Only SHA-256
// digests of tokens are kept, which is enough for 128 random bits.
//
// Immutable but for its counters, any thread. Middleware keep it alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/access/signed_links.h"
#include "content/uploads/access/upload_usage.h"
#include "h2server/handler.h"
#include "h2server/middleware.h"
#include "net/crypto/tls_sha256.h"

namespace h2server::content {

enum class Right : std::uint8_t {
  list,    // see which files there are
  read,    // download them
  upload,  // add files, none of which may exist
  manage,  // replace, delete, rename, make folders
};

class Rights {
 public:
  constexpr Rights() noexcept = default;
  constexpr Rights(Right right) noexcept  // NOLINT: implicit on purpose
      : bits_(static_cast<std::uint8_t>(1U << static_cast<unsigned>(right))) {}

  [[nodiscard]] constexpr bool has(Right right) const noexcept { return meets(right); }
  // Returns true if they have one right in common.
  [[nodiscard]] constexpr bool meets(Rights other) const noexcept {
    return (bits_ & other.bits_) != 0;
  }
  constexpr friend Rights operator|(Rights a, Rights b) noexcept {
    a.bits_ |= b.bits_;
    return a;
  }
  constexpr bool operator==(const Rights&) const noexcept = default;

 private:
  std::uint8_t bits_ = 0;
};

enum class AccessMode : std::uint8_t {
  drop,  // upload
  read,  // list, read
  full,  // everything
};

constexpr Rights operator|(Right a, Right b) noexcept { return Rights(a) | Rights(b); }

[[nodiscard]] Rights rights_of(AccessMode mode) noexcept;

struct UploadToken {
  std::string name = {};  // for logs
  net::Sha256Digest digest{};
  AccessMode mode = AccessMode::full;
  std::uint64_t quota_bytes = 0;  // that may be uploaded with it; 0: no limit
};

// What limits wrong tokens. Called by all workers concurrently.
struct GuessChecks {
  // Returns 0, or the time in nanoseconds until this client may try again. May be empty.
  std::function<std::int64_t(const Request&)> wait_ns;
  std::function<void(const Request&)> count_failure;
};

struct UploadAccessOptions {
  std::vector<UploadToken> tokens = {};
  std::optional<LinkSigner::Key> link_key = {};  // unset: signed links are not accepted
  bool is_named = false;  // the site has a name, so a link for the one without a name is none here
  GuessChecks guesses = {};
  std::shared_ptr<UploadUsage> usage = {};  // null: no quota is counted
  std::string base = "/files";              // of the area
  std::string resumable = "/uploads";       // a link for uploads to `base` is good here, too
};

class UploadAccess;
using UploadAccessRef = std::shared_ptr<UploadAccess>;

[[nodiscard]] UploadAccessRef make_upload_access(UploadAccessOptions options);

// Lets requests pass that have one of these rights, which it attaches (see may()). For the others:
// 401 with challenges or, for a browser, with a page that asks for the token; 403 for too few
// rights and for a link that is altered or expired; 429 with Retry-After for too many wrong tokens.
//
// A browser that opens a link for uploads gets a cookie for the requests of the page that it shows.
// Without the right to manage, If-Match is refused with 403: it would replace a file.
//
// A request that a page of another origin caused gets nothing by its cookie, and changes nothing by
// a password that the browser remembers.
//
// With a quota, the bytes of an upload are counted when it begins, by Upload-Length (tus, and the
// IETF's draft) or Content-Length, and no longer once it is refused. A body of unknown length gets
// 411, and one that is too long 413. A quota that can't be counted, since there are too many
// tokens, is one of 0 bytes.
[[nodiscard]] Middleware upload_access(UploadAccessRef access, Rights any_of);

// Returns true if the request was given that right, and also if no token was asked for.
[[nodiscard]] bool may(const Request& request, Right right);
// Counts bytes towards the quota of the request's token that were not counted when its upload
// began: 413 if that would be too much. refund_upload() takes them back.
[[nodiscard]] Result<void, Response> charge_upload(const Request& request, std::uint64_t bytes);
void refund_upload(const Request& request, std::uint64_t bytes) noexcept;
// Returns the name of the request's token; empty without one.
[[nodiscard]] std::string_view token_name(const Request& request);
// Returns what tells the request's token from others; empty without one.
[[nodiscard]] std::string token_key(const Request& request);

}  // namespace h2server::content
