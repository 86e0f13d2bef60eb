#include "net/tls_credentials.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>

#include "net/tls_objects.h"

namespace h2server::net {

namespace {

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

// Returns an error line, or an empty string if the file can be read.
std::string unreadable(std::string_view what, std::string_view option, const std::string& file) {
  if (::access(file.c_str(), R_OK) == 0) return {};
  return fmt::format("can't read the {} {}: {}; name it with {}, make one with --self-signed, or "
                     "serve without TLS with --h2c",
                     what, file, std::strerror(errno), option);
}

// Caches the passphrase: OpenSSL asks once per way to read a key, the operator is asked once.
class Asked {
 public:
  Asked(const TlsContext::Passphrase& passphrase, const std::string& key_file)
      : passphrase_(passphrase), key_file_(key_file) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    if (answer_ && *answer_) OPENSSL_cleanse((*answer_)->data(), (*answer_)->size());
  }

  static int callback(char* room, int size, int, void* self) noexcept {
    const auto& answer = static_cast<Asked*>(self)->answer();
    if (!answer || answer->size() > static_cast<std::size_t>(size)) return -1;
    answer->copy(room, answer->size());
    return static_cast<int>(answer->size());
  }

  // Returns why an encrypted key could not be read, or nullopt if no passphrase was needed.
  [[nodiscard]] std::optional<std::string> problem() const {
    if (!answer_) return std::nullopt;
    return *answer_ ? "the passphrase is wrong" : answer_->error();
  }

 private:
  const Result<std::string, std::string>& answer() {
    if (answer_) return *answer_;
    if (!passphrase_) answer_ = std::unexpected(std::string("it is encrypted"));
    else answer_ = passphrase_(key_file_);
    return *answer_;
  }

  const TlsContext::Passphrase& passphrase_;
  const std::string& key_file_;
  std::optional<Result<std::string, std::string>> answer_;
};

Result<Key, std::string> read_key(const std::string& file,
                                  const TlsContext::Passphrase& passphrase) {
  Asked asked(passphrase, file);
  const Bio bio(BIO_new_file(file.c_str(), "r"));
  Key key;
  if (bio != nullptr) {
    key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, Asked::callback, &asked));
  }
  const std::string error = key == nullptr ? last_error() : std::string();
  ERR_clear_error();
  if (key != nullptr) return key;
  if (const std::optional<std::string> problem = asked.problem()) {
    return std::unexpected(
        fmt::format("can't use the private key {}: {}; name another with --key", file, *problem));
  }
  return std::unexpected(
      fmt::format("{} holds no private key in PEM form ({}); name one with --key", file, error));
}

// "2026-11-22 07:00 UTC"
std::string text_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

bool lies_before_now(const ASN1_TIME* time) { return X509_cmp_current_time(time) < 0; }

}  // namespace

Result<void, std::string> load_credentials(ssl_ctx_st* context, const std::string& certificate_file,
                                           const std::string& key_file,
                                           const TlsContext::Passphrase& passphrase) {
  std::string problem = unreadable("certificate", "--cert", certificate_file);
  if (problem.empty()) problem = unreadable("private key", "--key", key_file);
  if (!problem.empty()) return std::unexpected(std::move(problem));
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return std::unexpected(fmt::format("{} holds no certificate in PEM form ({}); name one with "
                                       "--cert",
                                       certificate_file, last_error()));
  }
  const Result<Key, std::string> key = read_key(key_file, passphrase);
  if (!key) return std::unexpected(key.error());
  // OpenSSL alone accepts a key of another algorithm, for a certificate that is loaded later.
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key->get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key->get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return std::unexpected(fmt::format("the private key {} does not belong to the certificate {} "
                                       "({}); name the right one with --key",
                                       key_file, certificate_file, last_error()));
  }
  return {};
}

std::string validity_warning(const ssl_ctx_st* context, const std::string& certificate_file) {
  const X509* const certificate = SSL_CTX_get0_certificate(context);
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (lies_before_now(end)) {
    return fmt::format("the certificate {} expired on {}: clients will not accept it",
                       certificate_file, text_of(end));
  }
  if (!lies_before_now(begin)) {
    return fmt::format("the certificate {} is not valid before {}: clients will not accept it",
                       certificate_file, text_of(begin));
  }
  return {};
}

}  // namespace h2server::net
