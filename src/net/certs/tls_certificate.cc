#include "net/certs/tls_certificate.h"

#include <fmt/format.h>
#include <openssl/obj_mac.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"
#include "net/certs/tls_issue.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

namespace {

constexpr long valid_days = 398;

Certificate self_signed(EVP_PKEY* key) {
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  const std::string machine = machine_name();
  if (is_dns_name(machine) && machine != "localhost") names += ",DNS:" + machine;
  return issue({.name = "localhost",
                .valid_days = valid_days,
                .extensions = {{NID_subject_alt_name, names},
                               {NID_basic_constraints, "critical,CA:FALSE"},
                               {NID_key_usage, "critical,digitalSignature"},
                               {NID_ext_key_usage, "serverAuth"}}},
               key, nullptr, key);
}

bool exists(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

struct PemFile {
  const std::string& name;
  std::string_view content;
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
  return std::unexpected(fmt::format("can't write {}: {}", at->name, std::strerror(error)));
}

}  // namespace

Result<void, std::string> make_self_signed(const std::string& certificate_file,
                                           const std::string& key_file) {
  const Key key = make_key();
  const Certificate certificate = key != nullptr ? self_signed(key.get()) : nullptr;
  const std::string key_text = pem_of(key.get());
  const std::string certificate_text = pem_of(certificate.get());
  if (key_text.empty() || certificate_text.empty()) {
    return std::unexpected(std::string("OpenSSL can't make a self-signed certificate"));
  }
  std::error_code failure;
  std::filesystem::create_directories(folder_of(key_file), failure);
  const base::Fd lock = lock_folder_of(key_file);  // another server may be making a pair
  if (exists(key_file) && exists(certificate_file)) return {};  // another server has made them
  return write_pair({key_file, key_text, 0600}, {certificate_file, certificate_text, 0644});
}

bool finish_self_signed(const std::string& certificate_file, const std::string& key_file) {
  const base::Fd lock = lock_folder_of(key_file);  // another server may be making a pair
  if (exists(certificate_file)) return true;
  const Key key = read_key(key_file);
  const std::vector<Certificate> certificates = read_certificates(unfinished(certificate_file));
  const bool fits = !certificates.empty() && belongs_to(certificates.front().get(), key.get());
  return fits && publish(certificate_file) == 0;
}

}  // namespace h2server::net
