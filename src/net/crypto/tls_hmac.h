// HMAC-SHA-256 (RFC 2104) with a key that the caller keeps. A pure function, any thread.
//
// For a key that never leaves the process, see net/crypto/tls_keyed_digest.h.
#pragma once

#include <span>
#include <string_view>

#include "net/crypto/tls_sha256.h"

namespace h2server::net {

[[nodiscard]] Sha256Digest hmac_sha256(std::span<const unsigned char> key, std::string_view bytes);

}  // namespace h2server::net
