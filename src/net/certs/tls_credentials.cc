#include "net/certs/tls_credentials.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "base/out_of_memory.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

namespace {

// Returns an error line, or an empty string if the file can be read.
std::string unreadable(std::string_view what, const std::string& file) {
  if (::access(file.c_str(), R_OK) == 0) return {};
  return fmt::format("can't read the {} {}: {}", what, file, std::strerror(errno));
}

// Caches the passphrase: OpenSSL asks once per way to read a key, the operator is asked once.
class Asked {
 public:
  Asked(const Passphrase& passphrase, const std::string& key_file)
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

  const Passphrase& passphrase_;
  const std::string& key_file_;
  std::optional<Result<std::string, std::string>> answer_;
};

// A key that is encrypted and was not decrypted is null.
Result<Key, std::string> read_key_file(const std::string& file, const Passphrase& passphrase) {
  Asked asked(passphrase, file);
  const Bio bio(BIO_new_file(file.c_str(), "r"));
  Key key;
  if (bio != nullptr) {
    key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, Asked::callback, &asked));
  }
  const std::string error = key == nullptr ? last_error() : std::string();
  ERR_clear_error();
  if (key != nullptr) return key;
  const std::optional<std::string> problem = asked.problem();
  if (problem && !passphrase) return Key();
  if (problem) {
    return std::unexpected(fmt::format("can't use the private key {}: {}", file, *problem));
  }
  return std::unexpected(fmt::format("{} holds no private key in PEM form ({})", file, error));
}

// Reads the certificate and those behind it. Returns false with OpenSSL's reason.
bool read_chain(const std::string& file, Credentials& credentials) {
  const Bio bio(BIO_new_file(file.c_str(), "r"));
  if (bio == nullptr) return false;
  // Trusted certificates may have attributes behind them, which _AUX reads, as OpenSSL does.
  credentials.certificate.reset(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
  credentials.chain.reset(sk_X509_new_null());
  if (credentials.certificate == nullptr || credentials.chain == nullptr) return false;
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (sk_X509_push(credentials.chain.get(), next) == 0) base::out_of_memory();
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (at_end) ERR_clear_error();
  return at_end;
}

std::string wrong_key(const std::string& certificate_file, const std::string& key_file) {
  return fmt::format("the private key {} does not belong to the certificate {} ({})", key_file,
                     certificate_file, last_error());
}

// "2026-11-22 07:00 UTC"
std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

bool lies_before_now(const ASN1_TIME* time) { return X509_cmp_current_time(time) < 0; }

std::vector<FileStamp> stamps_of(const CertificateFiles& files) {
  std::vector<FileStamp> stamps = {stamp_of(files.certificate_file), stamp_of(files.key_file)};
  if (!files.ocsp_file.empty()) stamps.push_back(stamp_of(files.ocsp_file));
  return stamps;
}

bool belong_together(const Certificate& certificate, const Key& key) {
  const bool match = X509_check_private_key(certificate.get(), key.get()) == 1;
  if (match) ERR_clear_error();
  return match;
}

}  // namespace

Key CredentialsTable::find_key(const std::string& file) const {
  for (const auto& [files, pair] : known_) {
    if (files.key_file != file) continue;
    EVP_PKEY_up_ref(pair->key.get());
    return Key(pair->key.get());
  }
  return nullptr;
}

CredentialsTable::Shared CredentialsTable::find_same(const CertificateFiles& files,
                                                     const std::vector<FileStamp>& now,
                                                     std::int64_t now_s) const {
  const auto found = known_.find(files);
  if (found == known_.end() || found->second->stamps != now) return nullptr;
  // A response that is not sent, or not any more, is judged anew.
  const OcspResponse& ocsp = found->second->ocsp;
  return ocsp.warning.empty() && ocsp.end_s > now_s ? found->second : nullptr;
}

Result<Credentials, std::string> CredentialsTable::read_pair(const CertificateFiles& files,
                                                             const Passphrase& passphrase,
                                                             const CredentialsTable* previous) {
  std::string problem = unreadable("certificate", files.certificate_file);
  if (problem.empty()) problem = unreadable("private key", files.key_file);
  if (!problem.empty()) return std::unexpected(std::move(problem));
  Credentials pair;
  if (!read_chain(files.certificate_file, pair)) {
    return std::unexpected(fmt::format("{} holds no certificate in PEM form ({})",
                                       files.certificate_file, last_error()));
  }
  Result<Key, std::string> key = read_key_file(files.key_file, passphrase);
  if (!key) return std::unexpected(key.error());
  pair.key = *std::move(key);
  if (pair.key == nullptr) {  // encrypted
    if (previous != nullptr) pair.key = previous->find_key(files.key_file);
    if (pair.key == nullptr || !belong_together(pair.certificate, pair.key)) {
      ERR_clear_error();
      return std::unexpected(
          fmt::format("can't use the private key {}: it is encrypted", files.key_file));
    }
  }
  // OpenSSL alone accepts a key of another algorithm, for a certificate that is loaded later.
  if (!belong_together(pair.certificate, pair.key)) {
    return std::unexpected(wrong_key(files.certificate_file, files.key_file));
  }
  return pair;
}

Result<CredentialsTable::Shared, std::string> CredentialsTable::read_once(
    const CertificateFiles& files, const Passphrase& passphrase, const CredentialsTable* previous) {
  const auto found = known_.find(files);
  if (found != known_.end()) return found->second;
  std::vector<FileStamp> stamps = stamps_of(files);
  const std::int64_t now_us = clock_();
  const std::int64_t now_s = now_us / 1'000'000;
  if (previous != nullptr) {
    Shared same = previous->find_same(files, stamps, now_s);
    if (same != nullptr) return known_.emplace(files, std::move(same)).first->second;
  }
  Result<Credentials, std::string> pair = read_pair(files, passphrase, previous);
  if (!pair) return std::unexpected(std::move(pair.error()));
  if (!files.ocsp_file.empty()) {
    Result<OcspResponse, std::string> ocsp =
        read_ocsp_response(files.ocsp_file, pair->certificate.get(), pair->chain.get(), now_s);
    if (!ocsp) return std::unexpected(std::move(ocsp.error()));
    pair->ocsp = *std::move(ocsp);
  }
  const auto tells = [&](const FileStamp& stamp) { return is_telling(stamp, now_us * 1000); };
  if (std::ranges::all_of(stamps, tells)) pair->stamps = std::move(stamps);
  return known_.emplace(files, std::make_shared<const Credentials>(*std::move(pair))).first->second;
}

Result<CredentialsSet, std::string> CredentialsTable::read(
    const std::vector<CertificateFiles>& files, const Passphrase& passphrase,
    const CredentialsTable* previous) {
  CredentialsSet set;
  for (const CertificateFiles& one : files) {
    Result<Shared, std::string> pair = read_once(one, passphrase, previous);
    if (!pair) return std::unexpected(std::move(pair.error()));
    for (std::size_t at = 0; at < set.size(); ++at) {
      const int type = EVP_PKEY_get_base_id((*pair)->key.get());
      if (EVP_PKEY_get_base_id(set[at]->key.get()) != type) continue;
      return std::unexpected(fmt::format(
          "{} and {} are certificates of one host with keys of one type, {}; name only one of them",
          files[at].certificate_file, one.certificate_file, OBJ_nid2ln(type)));
    }
    set.push_back(*std::move(pair));
  }
  return set;
}

void CredentialsTable::give_responses(OcspResponses& responses) const {
  for (const auto& [files, pair] : known_) responses.add(pair->certificate.get(), pair->ocsp);
}

std::vector<std::string> CredentialsTable::warnings() const {
  std::vector<std::string> lines;
  for (const auto& [files, pair] : known_) {
    std::string warning = validity_warning(pair->certificate.get(), files.certificate_file);
    if (!warning.empty()) lines.push_back(std::move(warning));
    if (!pair->ocsp.warning.empty()) lines.push_back(pair->ocsp.warning);
  }
  return lines;
}

std::string validity_warning(const X509* certificate, const std::string& certificate_file) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (lies_before_now(end)) {
    return fmt::format("the certificate {} expired on {}: clients will not accept it",
                       certificate_file, time_text(end));
  }
  if (!lies_before_now(begin)) {
    return fmt::format("the certificate {} is not valid before {}: clients will not accept it",
                       certificate_file, time_text(begin));
  }
  return {};
}

}  // namespace h2server::net
