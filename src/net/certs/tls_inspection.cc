#include "net/certs/tls_inspection.h"

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "net/certs/tls_issue.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

namespace {

void free_names(GENERAL_NAMES* names) noexcept { GENERAL_NAMES_free(names); }
using Names = std::unique_ptr<GENERAL_NAMES, FreeBy<free_names>>;
using Time = std::unique_ptr<ASN1_TIME, FreeBy<ASN1_TIME_free>>;

Result<Bio, std::string> open_file(const std::string& file) {
  std::error_code failure;
  // Opening a FIFO would wait for its writer.
  if (std::filesystem::is_fifo(file, failure)) return std::unexpected("it is no regular file");
  Bio bio(BIO_new_file(file.c_str(), "r"));
  if (bio == nullptr) return std::unexpected(last_error());
  return bio;
}

Certificate next_certificate(BIO* bio) {
  char no_passphrase[] = "";  // with null OpenSSL would prompt for an encrypted block
  return Certificate(PEM_read_bio_X509_AUX(bio, nullptr, nullptr, no_passphrase));
}

std::optional<std::int64_t> seconds_of(const ASN1_TIME* time) {
  const Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (epoch == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) {
    return std::nullopt;
  }
  return std::int64_t{days} * 24 * 3600 + seconds;
}

std::span<const unsigned char> string_bytes(const ASN1_STRING* text) {
  return {ASN1_STRING_get0_data(text), static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// Returns an IPv4 or IPv6 address in its usual form; empty for another size.
std::string ip_text(std::span<const unsigned char> bytes) {
  std::array<char, INET6_ADDRSTRLEN> room{};
  const int family = bytes.size() == 4 ? AF_INET : bytes.size() == 16 ? AF_INET6 : AF_UNSPEC;
  if (family == AF_UNSPEC) return {};
  return ::inet_ntop(family, bytes.data(), room.data(), room.size()) != nullptr ? room.data() : "";
}

std::vector<std::string> certificate_names(const X509* certificate) {
  std::vector<std::string> found;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int at = 0; names != nullptr && at < sk_GENERAL_NAME_num(names.get()); ++at) {
    int kind = 0;
    const void* const value =
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), at), &kind);
    if (kind != GEN_DNS && kind != GEN_IPADD) continue;  // browsers use no others
    const auto bytes = string_bytes(static_cast<const ASN1_STRING*>(value));
    std::string text = kind == GEN_IPADD ? ip_text(bytes) : std::string(bytes.begin(), bytes.end());
    if (!text.empty()) found.push_back(std::move(text));
  }
  return found;
}

}  // namespace

Result<CertificateFacts, std::string> inspect_certificate(const std::string& certificate_file) {
  const Result<Bio, std::string> bio = open_file(certificate_file);
  if (!bio) return std::unexpected(bio.error());
  const Certificate first = next_certificate(bio->get());
  if (first == nullptr) return std::unexpected(last_error());
  CertificateFacts facts;
  const std::optional<std::int64_t> begin_s = seconds_of(X509_get0_notBefore(first.get()));
  const std::optional<std::int64_t> end_s = seconds_of(X509_get0_notAfter(first.get()));
  if (!begin_s || !end_s) return std::unexpected(last_error());
  facts.begin_s = *begin_s;
  facts.end_s = *end_s;
  facts.names = certificate_names(first.get());
  facts.fingerprint = fingerprint_of(first.get());
  facts.self_signed = X509_self_signed(first.get(), 0) == 1;
  while (next_certificate(bio->get()) != nullptr) ++facts.others;
  ERR_clear_error();  // the end of the file
  return facts;
}

Result<KeyFit, std::string> inspect_key(const std::string& certificate_file,
                                        const std::string& key_file) {
  bool asked = false;
  const auto refuse = [](char*, int, int, void* noted) {
    *static_cast<bool*>(noted) = true;
    return -1;
  };
  const Result<Bio, std::string> bio = open_file(key_file);
  if (!bio) return std::unexpected(bio.error());
  const Key key(PEM_read_bio_PrivateKey(bio->get(), nullptr, refuse, &asked));
  if (key == nullptr) {
    std::string error = last_error();
    if (asked) return KeyFit::encrypted;
    return std::unexpected(std::move(error));
  }
  const Result<Bio, std::string> other = open_file(certificate_file);
  const Certificate certificate = other ? next_certificate(other->get()) : nullptr;
  const bool fits =
      certificate != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (certificate == nullptr) return KeyFit::unknown;
  return fits ? KeyFit::fits : KeyFit::differs;
}

}  // namespace h2server::net
