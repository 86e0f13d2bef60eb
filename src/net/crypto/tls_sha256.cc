#include "net/crypto/tls_sha256.h"

#include <openssl/evp.h>

#include "base/assert.h"

namespace h2server::net {

Sha256Digest sha256(std::string_view bytes) {
  Sha256Digest digest{};
  unsigned size = 0;
  const int made =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  ASSERT(made == 1 && size == digest.size());  // fails without memory only
  return digest;
}

}  // namespace h2server::net
