#include "net/tls_certificate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/fd.h"

namespace h2server::net {

namespace {

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* object) const noexcept {
    free_function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;

constexpr long valid_days = 398;

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

bool add_extension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Only a name that DNS would take goes into the certificate; OpenSSL parses the list by commas.
bool is_dns_name(const std::string& name) {
  return !name.empty() && name.size() <= 63 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") ==
             std::string::npos;
}

Certificate make_certificate(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  if (certificate == nullptr) return nullptr;
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), serial.size()) != 1) return nullptr;
  serial[0] &= 0x7f;  // RFC 5280, 4.1.2.2: positive
  X509_set_version(certificate.get(), X509_VERSION_3);
  const std::unique_ptr<BIGNUM, Free<BN_free>> number(
      BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);  // clocks differ
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_days * 24 * 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  const std::string machine = machine_name();
  if (is_dns_name(machine) && machine != "localhost") names += ",DNS:" + machine;
  const bool complete =
      add_extension(certificate.get(), NID_subject_alt_name, names) &&
      add_extension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(certificate.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(certificate.get(), NID_ext_key_usage, "serverAuth") &&
      X509_sign(certificate.get(), key, EVP_sha256()) > 0;
  return complete ? std::move(certificate) : nullptr;
}

Result<void, std::string> write_file(const std::string& file, BIO* content, mode_t mode) {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  const base::Fd target(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(content, &bytes);
  if (!target.valid() || ::write(target.get(), bytes, static_cast<std::size_t>(size)) != size) {
    return std::unexpected(fmt::format("can't write {}: {}; make its folder writable or name "
                                       "another with --cert and --key",
                                       file, std::strerror(errno)));
  }
  return {};
}

}  // namespace

Result<void, std::string> make_self_signed(const std::string& certificate_file,
                                           const std::string& key_file) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = key != nullptr ? make_certificate(key.get()) : nullptr;
  const Bio key_text(BIO_new(BIO_s_mem()));
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  if (certificate == nullptr || key_text == nullptr || certificate_text == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1 ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1) {
    return std::unexpected(std::string("OpenSSL can't make a self-signed certificate"));
  }
  Result<void, std::string> written = write_file(key_file, key_text.get(), 0600);
  if (!written) return written;
  written = write_file(certificate_file, certificate_text.get(), 0644);
  if (!written) ::unlink(key_file.c_str());  // half a pair would stand in the next try's way
  return written;
}

}  // namespace h2server::net
