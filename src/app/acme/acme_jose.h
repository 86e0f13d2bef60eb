// What ACME takes from JOSE: base64url, keys as JSON and their thumbprints, signed messages
// (RFC 7515, RFC 7517, RFC 7638), with ES256 only.
//
// Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/certs/tls_request.h"

namespace h2server::app {

// RFC 4648, 5, without padding (RFC 7515, 2).
std::string encode_base64url(std::string_view bytes);

// Returns true if the text has only base64url's characters, and at least one.
bool is_base64url(std::string_view text);

// Returns the public key as JSON with its required members in lexicographic order (RFC 7638, 3).
std::string public_jwk(const net::SigningKey& key);

// Returns the SHA-256 of such a text in base64url.
std::string thumbprint_of(std::string_view canonical_jwk);

// What protects a message (RFC 8555, 6.2).
struct JwsHeader {
  std::string url;
  std::string nonce;
  std::optional<std::string> account_url;  // unset: the key itself is in the header
};

// Returns a message in flattened JSON (RFC 7515, 7.2.2). The payload may be empty.
std::string sign_message(const net::SigningKey& key, const JwsHeader& header,
                         std::string_view payload);

// Returns the name of a certificate in RFC 9773, 4.1.
std::string renewal_name(const net::CertificateId& certificate);

}  // namespace h2server::app
