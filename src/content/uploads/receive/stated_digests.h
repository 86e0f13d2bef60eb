// The digests that a request states for its body (RFC 9530), and the check of a body against them.
//
// One thread at a time.
#pragma once

#include <optional>
#include <string_view>

#include "content/storage/file_digest.h"
#include "h2server/message.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "http/fields/digest_fields.h"

namespace h2server::content {

// Content-Digest and Repr-Digest are of the same bytes here, since a request with Content-Range is
// refused, and so is one with Content-Encoding. Algorithms other than SHA-256 and SHA-512 do not
// count.
struct StatedDigests {
  std::optional<http::Sha256Value> sha256;
  std::optional<http::Sha512Value> sha512;

  // The error is the response to send: 400 for a malformed field, and for two different digests.
  static Result<StatedDigests, Response> of(const Fields& fields);
};

class DigestCheck {
 public:
  // Without `with_sha256` someone else compares the SHA-256.
  DigestCheck(const StatedDigests& stated, bool with_sha256);

  // Returns true if there is a digest to compare.
  [[nodiscard]] bool any() const noexcept { return sha256_ || sha512_; }
  // Adds the next bytes of the body.
  void update(std::string_view bytes);
  // Returns true if the body has the digests. Nothing may be added afterwards.
  [[nodiscard]] bool matches();

 private:
  StatedDigests stated_;
  std::optional<Sha256> sha256_;
  std::optional<Sha512> sha512_;
};

// Returns 400, for a body that has other digests than its request states.
Response refuse_digest();

}  // namespace h2server::content
