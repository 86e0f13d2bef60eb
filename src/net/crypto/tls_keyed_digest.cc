#include "net/crypto/tls_keyed_digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/assert.h"

namespace h2server::net {

KeyedDigest::KeyedDigest() : key_{} {
  ASSERT(RAND_priv_bytes(key_.data(), static_cast<int>(key_.size())) == 1);
}

KeyedDigest::~KeyedDigest() { OPENSSL_cleanse(key_.data(), key_.size()); }

KeyedDigest::Value KeyedDigest::of(std::string_view bytes) const {
  Value value{};
  unsigned size = 0;
  const unsigned char* const made = ::HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                                           reinterpret_cast<const unsigned char*>(bytes.data()),
                                           bytes.size(), value.data(), &size);
  ASSERT(made != nullptr && size == value.size());  // fails without memory only
  return value;
}

}  // namespace h2server::net
