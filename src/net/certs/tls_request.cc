#include "net/certs/tls_request.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "net/certs/tls_issue.h"

namespace h2server::net {

namespace {

using Number = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>>;
using Request = std::unique_ptr<X509_REQ, FreeBy<X509_REQ_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>>;
using Object = std::unique_ptr<ASN1_OBJECT, FreeBy<ASN1_OBJECT_free>>;
using OctetString = std::unique_ptr<ASN1_OCTET_STRING, FreeBy<ASN1_OCTET_STRING_free>>;
using AuthorityKeyId = std::unique_ptr<AUTHORITY_KEYID, FreeBy<AUTHORITY_KEYID_free>>;

inline void free_extensions(STACK_OF(X509_EXTENSION) * all) noexcept {
  sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
}
using Extensions = std::unique_ptr<STACK_OF(X509_EXTENSION), FreeBy<free_extensions>>;

constexpr int coordinate_bytes = 32;                           // of P-256
constexpr const char* acme_identifier = "1.3.6.1.5.5.7.1.31";  // RFC 8737, 3
constexpr long challenge_days = 7;                             // longer than an order may take

// For what fails without memory only.
void require(bool done) {
  if (done) return;
  ERR_clear_error();
  throw std::bad_alloc();
}

std::string number_bytes(const BIGNUM* number) {
  std::string bytes(coordinate_bytes, '\0');
  require(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), coordinate_bytes) ==
          coordinate_bytes);
  return bytes;
}

std::string coordinate(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  require(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  const Number owned(number);
  return number_bytes(number);
}

bool is_p256(const EVP_PKEY* key) {
  std::array<char, 32> group{};
  std::size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
         std::string_view(group.data(), size) == SN_X9_62_prime256v1;
}

std::string names_value(std::span<const std::string> hosts) {
  std::string value;
  for (const std::string& host : hosts) {
    ASSERT(is_dns_name(host));  // OpenSSL splits the list at commas
    value += (value.empty() ? "DNS:" : ",DNS:") + host;
  }
  return value;
}

// The octets of the digest as an OCTET STRING, critical (RFC 8737, 3).
Extension identifier_extension(const Sha256Digest& authorization) {
  std::array<unsigned char, 2 + sizeof(Sha256Digest)> der{V_ASN1_OCTET_STRING,
                                                          sizeof(Sha256Digest)};
  std::ranges::copy(authorization, der.begin() + 2);
  const OctetString value(ASN1_OCTET_STRING_new());
  require(value != nullptr &&
          ASN1_OCTET_STRING_set(value.get(), der.data(), static_cast<int>(der.size())) == 1);
  const Object kind(OBJ_txt2obj(acme_identifier, 1));
  return Extension(X509_EXTENSION_create_by_OBJ(nullptr, kind.get(), 1, value.get()));
}

std::vector<Certificate> parse_certificates(const std::string& pem) {
  std::vector<Certificate> found;
  if (pem.size() > std::numeric_limits<int>::max()) return found;
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  while (bio != nullptr) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    found.push_back(std::move(next));
  }
  ERR_clear_error();
  return found;
}

bool names_host(X509* certificate, const std::string& host) {
  return X509_check_host(certificate, host.data(), host.size(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
                         nullptr) == 1;
}

}  // namespace

SigningKey SigningKey::make() {
  Key key = make_key();
  require(key != nullptr);
  return SigningKey(std::move(key));
}

std::optional<SigningKey> SigningKey::from_pem(std::string_view pem) {
  if (pem.size() > std::numeric_limits<int>::max()) return std::nullopt;
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  char no_passphrase[] = "";  // with null OpenSSL would prompt
  Key key(bio != nullptr ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_passphrase)
                         : nullptr);
  ERR_clear_error();
  if (key == nullptr || !is_p256(key.get())) return std::nullopt;
  return SigningKey(std::move(key));
}

std::string SigningKey::pem() const {
  std::string text = pem_of(key_.get());
  require(!text.empty());
  return text;
}

SigningKey::Point SigningKey::point() const {
  return {.x = coordinate(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X),
          .y = coordinate(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y)};
}

std::string SigningKey::sign(std::string_view bytes) const {
  const DigestContext context(EVP_MD_CTX_new());
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::array<unsigned char, 128> der{};  // at most 72 bytes
  std::size_t size = der.size();
  require(context != nullptr &&
          EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
          EVP_DigestSign(context.get(), der.data(), &size, data, bytes.size()) == 1);
  const unsigned char* at = der.data();
  const Signature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  require(signature != nullptr);
  return number_bytes(ECDSA_SIG_get0_r(signature.get())) +
         number_bytes(ECDSA_SIG_get0_s(signature.get()));
}

std::string make_certificate_request(const SigningKey& key, std::span<const std::string> hosts) {
  const Request request(X509_REQ_new());
  const Extensions extensions(sk_X509_EXTENSION_new_null());
  const std::string value = names_value(hosts);
  Extension names(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, value.c_str()));
  require(request != nullptr && extensions != nullptr && names != nullptr &&
          sk_X509_EXTENSION_push(extensions.get(), names.get()) > 0);
  static_cast<void>(names.release());
  require(X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1 &&
          X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
          X509_REQ_add_extensions(request.get(), extensions.get()) == 1 &&
          X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0);
  const int size = i2d_X509_REQ(request.get(), nullptr);
  require(size > 0);
  std::string der(static_cast<std::size_t>(size), '\0');
  auto* at = reinterpret_cast<unsigned char*>(der.data());
  require(i2d_X509_REQ(request.get(), &at) == size);
  return der;
}

TlsChallenges::Pair make_challenge(const std::string& host, const Sha256Digest& authorization) {
  Key key = make_key();
  require(key != nullptr);
  const std::string host_of_one[] = {host};
  Certificate certificate =
      issue({.name = "h2server acme challenge",
             .valid_days = challenge_days,
             .extensions = {{NID_subject_alt_name, names_value(host_of_one)}}},
            key.get(), nullptr, key.get());
  const Extension identifier = identifier_extension(authorization);
  // Signed again, since the extension is new.
  require(certificate != nullptr && identifier != nullptr &&
          X509_add_ext(certificate.get(), identifier.get(), -1) == 1 &&
          X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  return {std::move(certificate), std::move(key)};
}

Result<void, std::string> check_issued(const std::string& pem, const SigningKey& key,
                                       std::span<const std::string> hosts, std::int64_t now_s) {
  const std::vector<Certificate> chain = parse_certificates(pem);
  if (chain.empty()) return std::unexpected("it is no PEM certificate");
  X509* const first = chain.front().get();
  if (!belongs_to(first, key.get())) return std::unexpected("it is for another key");
  for (const std::string& host : hosts) {
    if (!names_host(first, host)) return std::unexpected("it is not for " + host);
  }
  std::time_t now = now_s;
  if (X509_cmp_time(X509_get0_notAfter(first), &now) <= 0) {
    return std::unexpected("it has expired");
  }
  return {};
}

bool is_newer(const std::string& one, const std::string& other) {
  const std::vector<Certificate> first = parse_certificates(one);
  const std::vector<Certificate> second = parse_certificates(other);
  if (first.empty() || second.empty()) return !first.empty();
  return ASN1_TIME_compare(X509_get0_notBefore(first.front().get()),
                           X509_get0_notBefore(second.front().get())) > 0;
}

std::optional<CertificateId> read_certificate_id(const std::string& certificate_file) {
  const std::vector<Certificate> chain = read_certificates(certificate_file);
  if (chain.empty()) return std::nullopt;
  X509* const first = chain.front().get();
  const AuthorityKeyId authority(static_cast<AUTHORITY_KEYID*>(
      X509_get_ext_d2i(first, NID_authority_key_identifier, nullptr, nullptr)));
  std::array<unsigned char, 64> der{};
  unsigned char* at = der.data();
  const ASN1_INTEGER* const serial = X509_get0_serialNumber(first);
  const int size = i2d_ASN1_INTEGER(serial, nullptr);
  // RFC 5280, 4.1.2.2: a serial number has at most 20 octets, so its length takes one.
  const bool usable = authority != nullptr && authority->keyid != nullptr && size > 2 &&
                      static_cast<std::size_t>(size) <= der.size();
  if (usable) i2d_ASN1_INTEGER(serial, &at);
  ERR_clear_error();
  if (!usable) return std::nullopt;
  const auto* const key_id = reinterpret_cast<const char*>(ASN1_STRING_get0_data(authority->keyid));
  return CertificateId{
      .authority_key = {key_id, static_cast<std::size_t>(ASN1_STRING_length(authority->keyid))},
      .serial = {reinterpret_cast<const char*>(der.data()) + 2,
                 static_cast<std::size_t>(size) - 2}};
}

bool covers(const std::string& certificate_file, std::span<const std::string> hosts) {
  const std::vector<Certificate> chain = read_certificates(certificate_file);
  return !chain.empty() && std::ranges::all_of(hosts, [&chain](const std::string& host) {
    return names_host(chain.front().get(), host);
  });
}

}  // namespace h2server::net
