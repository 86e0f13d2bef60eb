#include "net/tls_certificate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "net/folder_lock.h"
#include "net/tls_objects.h"

namespace h2server::net {

namespace {

using Extension = std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;

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

// Only a valid DNS name goes into the certificate, because OpenSSL splits the list at commas.
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
  const Number number(BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr));
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

// --- files ------------------------------------------------------------------------------------

std::filesystem::path folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder;
}

// Returns the name under which a file is written before it gets its own.
std::string unfinished(const std::string& file) { return file + ".new"; }

bool exists(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

int write_all(int target, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(target, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Writes a file under its unfinished name and replaces what a killed run left there. Returns 0 or
// an errno value.
int write_unfinished(const std::string& file, BIO* content, mode_t mode) {
  std::error_code failure;
  std::filesystem::create_directories(folder_of(file), failure);
  const std::string name = unfinished(file);
  ::unlink(name.c_str());
  const base::Fd target(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!target.valid()) return errno;
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(content, &bytes);
  const int error = write_all(target.get(), {bytes, static_cast<std::size_t>(size)});
  if (error != 0) return error;
  return ::fsync(target.get()) == 0 ? 0 : errno;
}

// Gives a file its name, unless a file of that name exists. Returns 0 or an errno value.
int publish(const std::string& file) {
  const std::string name = unfinished(file);
  if (::renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EINVAL) return errno;
    // The file system does not support RENAME_NOREPLACE.
    if (::link(name.c_str(), file.c_str()) != 0) return errno;
    ::unlink(name.c_str());
  }
  const base::Fd folder(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) ::fsync(folder.get());  // matters only if the machine crashes
  return 0;
}

struct PemFile {
  const std::string& name;
  BIO* content;
  mode_t mode;
};

// Writes both files or neither.
Result<void, std::string> write_pair(const PemFile& key, const PemFile& certificate) {
  const PemFile* at = &key;  // the file whose write fails
  int error = write_unfinished(key.name, key.content, key.mode);
  if (error == 0) {
    at = &certificate;
    error = write_unfinished(certificate.name, certificate.content, certificate.mode);
  }
  if (error == 0) {
    at = &key;
    error = publish(key.name);
  }
  if (error == 0) {
    // finish_self_signed() continues from here if this process is killed now.
    at = &certificate;
    error = publish(certificate.name);
    if (error != 0) ::unlink(key.name.c_str());  // half a pair would block the next try
  }
  if (error == 0) return {};
  ::unlink(unfinished(key.name).c_str());
  ::unlink(unfinished(certificate.name).c_str());
  return std::unexpected(fmt::format("can't write {}: {}; make its folder writable or name "
                                     "another with --cert and --key",
                                     at->name, std::strerror(error)));
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
  std::error_code failure;
  std::filesystem::create_directories(folder_of(key_file), failure);
  const base::Fd lock = lock_folder_of(key_file);  // another server may be making a pair
  if (exists(key_file) && exists(certificate_file)) return {};  // another server has made them
  return write_pair({key_file, key_text.get(), 0600},
                    {certificate_file, certificate_text.get(), 0644});
}

bool finish_self_signed(const std::string& certificate_file, const std::string& key_file) {
  const base::Fd lock = lock_folder_of(key_file);  // another server may be making a pair
  if (exists(certificate_file)) return true;
  const Bio key_text(BIO_new_file(key_file.c_str(), "r"));
  const Bio certificate_text(BIO_new_file(unfinished(certificate_file).c_str(), "r"));
  if (key_text == nullptr || certificate_text == nullptr) return false;
  char no_passphrase[] = "";  // our keys are not encrypted; with null OpenSSL would prompt
  const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, no_passphrase));
  const Certificate certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const bool fits = key != nullptr && certificate != nullptr &&
                    X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits && publish(certificate_file) == 0;
}

}  // namespace h2server::net
