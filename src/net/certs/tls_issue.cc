#include "net/certs/tls_issue.h"

#include <fmt/ranges.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>

namespace h2server::net {

namespace {

using Extension = std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;

bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), serial.size()) != 1) return false;
  serial[0] &= 0x7f;  // RFC 5280, 4.1.2.2: positive
  const Number number(BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_extensions(const CertificateContent& content, X509* certificate, X509* issuer) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (const auto& [kind, value] : content.extensions) {
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) return false;
  }
  return true;
}

bool fill(const CertificateContent& content, X509* certificate, EVP_PKEY* key, X509* issuer) {
  const auto* const common_name = reinterpret_cast<const unsigned char*>(content.name.data());
  X509_NAME* const subject = X509_get_subject_name(certificate);
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), content.valid_days * 24 * 3600) !=
             nullptr &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, common_name,
                                    static_cast<int>(content.name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         add_extensions(content, certificate, issuer);
}

template <class Write>
std::string written_text(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  const bool written = bio != nullptr && write(bio.get());
  ERR_clear_error();
  if (!written) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace

Key make_key() {
  Key key(EVP_EC_gen("P-256"));
  ERR_clear_error();
  return key;
}

Certificate issue(const CertificateContent& content, EVP_PKEY* key, X509* issuer,
                  EVP_PKEY* issuer_key) {
  Certificate certificate(X509_new());
  if (certificate != nullptr) {
    X509* const signer = issuer != nullptr ? issuer : certificate.get();
    const bool complete = fill(content, certificate.get(), key, signer) &&
                          X509_sign(certificate.get(), issuer_key, EVP_sha256()) > 0;
    if (!complete) certificate.reset();
  }
  ERR_clear_error();
  return certificate;
}

std::string pem_of(EVP_PKEY* key) {
  if (key == nullptr) return {};
  return written_text([key](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  });
}

std::string pem_of(X509* certificate) {
  if (certificate == nullptr) return {};
  return written_text(
      [certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate) == 1; });
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  return fmt::format("{:02X}", fmt::join(std::span(digest).first(size), ":"));
}

Key read_key(const std::string& file) {
  const Bio bio(BIO_new_file(file.c_str(), "r"));
  char no_passphrase[] = "";  // our keys are not encrypted; with null OpenSSL would prompt
  Key key(bio != nullptr ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_passphrase)
                         : nullptr);
  ERR_clear_error();
  return key;
}

std::vector<Certificate> read_certificates(const std::string& file) {
  std::vector<Certificate> found;
  const Bio bio(BIO_new_file(file.c_str(), "r"));
  while (bio != nullptr) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    found.push_back(std::move(next));
  }
  // "No start line" is how OpenSSL says that the file has no further certificate.
  const bool whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!whole) found.clear();
  return found;
}

bool belongs_to(X509* certificate, EVP_PKEY* key) {
  const bool fits =
      certificate != nullptr && key != nullptr && X509_check_private_key(certificate, key) == 1;
  ERR_clear_error();
  return fits;
}

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

bool is_dns_name(const std::string& name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
  constexpr std::size_t name_max = 253;  // RFC 1035, 2.3.4
  constexpr std::size_t label_max = 63;
  if (name.size() > name_max) return false;
  // RFC 1123, 2.1: the last label is no number, else it would be an IPv4 address.
  const std::size_t last = name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1;
  if (name.find_first_not_of("0123456789", last) == std::string::npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view label = std::string_view(name).substr(begin, end - begin);
    if (label.empty() || label.size() > label_max || label.front() == '-' ||
        label.find_first_not_of(letters) != std::string_view::npos) {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

}  // namespace h2server::net
