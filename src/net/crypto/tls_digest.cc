#include "net/crypto/tls_digest.h"

#include <openssl/evp.h>

#include "base/assert.h"

namespace h2server::net {

namespace {

const EVP_MD* implementation(Digest::Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Digest::Algorithm::sha1:
      return EVP_sha1();
    case Digest::Algorithm::sha256:
      return EVP_sha256();
    case Digest::Algorithm::sha512:
      return EVP_sha512();
  }
  return nullptr;
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* state) const noexcept { EVP_MD_CTX_free(state); }

// These calls fail without memory only.
Digest::Digest(Algorithm algorithm) : state_(EVP_MD_CTX_new()) {
  ASSERT(state_ != nullptr);
  ASSERT(EVP_DigestInit_ex(state_.get(), implementation(algorithm), nullptr) == 1);
}

void Digest::update(std::string_view bytes) {
  ASSERT(EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) == 1);
}

void Digest::finish(std::span<unsigned char> room) {
  ASSERT(room.size() == static_cast<std::size_t>(EVP_MD_CTX_size(state_.get())));
  ASSERT(EVP_DigestFinal_ex(state_.get(), room.data(), nullptr) == 1);
}

}  // namespace h2server::net
