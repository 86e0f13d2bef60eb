#include "net/crypto/tls_hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.h"

namespace h2server::net {

Sha256Digest hmac_sha256(std::span<const unsigned char> key, std::string_view bytes) {
  Sha256Digest digest{};
  unsigned size = 0;
  const unsigned char* const made = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                           reinterpret_cast<const unsigned char*>(bytes.data()),
                                           bytes.size(), digest.data(), &size);
  ASSERT(made != nullptr && size == digest.size());  // fails without memory only
  return digest;
}

}  // namespace h2server::net
