#include "app/acme/acme_jose.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/base64.h"
#include "base/text/text.h"
#include "h2server/json.h"

namespace h2server::app {

std::string encode_base64url(std::string_view bytes) {
  std::string text = base::encode_base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

bool is_base64url(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return base::is_alphanumeric(c) || c == '-' || c == '_';
  });
}

std::string public_jwk(const net::SigningKey& key) {
  const net::SigningKey::Point point = key.point();
  return R"({"crv":"P-256","kty":"EC","x":")" + encode_base64url(point.x) + R"(","y":")" +
         encode_base64url(point.y) + R"("})";
}

std::string thumbprint_of(std::string_view canonical_jwk) {
  const net::Sha256Digest digest = net::sha256(canonical_jwk);
  return encode_base64url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string sign_message(const net::SigningKey& key, const JwsHeader& header,
                         std::string_view payload) {
  const std::string signer = header.account_url ? R"("kid":)" + json_string(*header.account_url)
                                                : R"("jwk":)" + public_jwk(key);
  const std::string fields = fmt::format(R"({{"alg":"ES256",{},"nonce":{},"url":{}}})", signer,
                                         json_string(header.nonce), json_string(header.url));
  const std::string head = encode_base64url(fields);
  const std::string body = encode_base64url(payload);
  return fmt::format(R"({{"protected":"{}","payload":"{}","signature":"{}"}})", head, body,
                     encode_base64url(key.sign(head + '.' + body)));
}

std::string renewal_name(const net::CertificateId& certificate) {
  return encode_base64url(certificate.authority_key) + '.' + encode_base64url(certificate.serial);
}

}  // namespace h2server::app
