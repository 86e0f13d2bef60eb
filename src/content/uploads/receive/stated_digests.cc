#include "content/uploads/receive/stated_digests.h"

#include "content/storage/upload_refusals.h"

namespace h2server::content {

namespace {

// Returns false if the field states another digest than one before.
template <class Value>
bool merge(std::optional<Value>& known, const std::optional<Value>& found) {
  if (known && found && *known != *found) return false;
  if (found) known = found;
  return true;
}

}  // namespace

Result<StatedDigests, Response> StatedDigests::of(const Fields& fields) {
  StatedDigests stated;
  for (const std::string_view name : {"content-digest", "repr-digest"}) {
    const std::optional<http::DigestFields> found = http::find_digest_field(fields, name);
    if (!found) continue;
    if (found->malformed) {
      return std::unexpected(refuse_upload(400, "malformed Content-Digest or Repr-Digest"));
    }
    if (!merge(stated.sha256, found->sha256) || !merge(stated.sha512, found->sha512)) {
      return std::unexpected(refuse_upload(400, "Content-Digest and Repr-Digest differ"));
    }
  }
  return stated;
}

DigestCheck::DigestCheck(const StatedDigests& stated, bool with_sha256) : stated_(stated) {
  if (stated_.sha256 && with_sha256) sha256_.emplace();
  if (stated_.sha512) sha512_.emplace();
}

void DigestCheck::update(std::string_view bytes) {
  if (sha256_) sha256_->update(bytes);
  if (sha512_) sha512_->update(bytes);
}

bool DigestCheck::matches() {
  const bool same256 = !sha256_ || sha256_->finish() == stated_.sha256;
  const bool same512 = !sha512_ || sha512_->finish() == stated_.sha512;
  return same256 && same512;
}

Response refuse_digest() {
  return refuse_upload(400, "the body does not have the digest that the request states");
}

}  // namespace h2server::content
