#include "net/certs/tls_authority.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"
#include "net/certs/tls_issue.h"
#include "net/crypto/tls_objects.h"

namespace h2server::net {

namespace {

using Constraints = std::unique_ptr<NAME_CONSTRAINTS, FreeBy<NAME_CONSTRAINTS_free>>;

constexpr long authority_days = 3650;
// With the hour before it that issue() adds, the certificate stays below the 397 days that browsers
// accept.
constexpr long certificate_days = 396;
constexpr std::time_t renewal_s = std::time_t{30} * 24 * 3600;  // before it expires

struct Signer {
  Certificate certificate;
  Key key;
  bool made_now = false;
};

std::string authority_key_file(const std::string& directory) { return directory + "/ca.key"; }

// --- names ------------------------------------------------------------------------------------

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

Certificate issue_for(const std::vector<std::string>& names, EVP_PKEY* key, const Signer& signer) {
  return issue({.name = "h2server",
                .valid_days = certificate_days,
                .extensions = {{NID_subject_alt_name, joined(names)},
                               {NID_basic_constraints, "critical,CA:FALSE"},
                               {NID_key_usage, "critical,digitalSignature"},
                               {NID_ext_key_usage, "serverAuth"},
                               {NID_subject_key_identifier, "hash"},
                               {NID_authority_key_identifier, "keyid:always"}}},
               key, signer.certificate.get(), signer.key.get());
}

// Returns those of `names` that the authority may sign for. An authority knows the host's name of
// the day on which it was made, and no public address.
std::vector<std::string> permitted(std::vector<std::string> names, const Signer& signer) {
  const Constraints constraints(static_cast<NAME_CONSTRAINTS*>(
      X509_get_ext_d2i(signer.certificate.get(), NID_name_constraints, nullptr, nullptr)));
  if (constraints == nullptr) return names;
  std::erase_if(names, [&](const std::string& name) {
    const Certificate trial = issue_for({name}, signer.key.get(), signer);
    // X509_check_purpose() makes OpenSSL parse the names, which NAME_CONSTRAINTS_check() reads.
    return trial == nullptr || X509_check_purpose(trial.get(), -1, 0) != 1 ||
           NAME_CONSTRAINTS_check(trial.get(), constraints.get()) != X509_V_OK;
  });
  ERR_clear_error();
  return names;
}

bool is_for(X509* certificate, const std::string& name) {
  if (name.starts_with("IP:")) {
    return X509_check_ip_asc(certificate, name.c_str() + std::strlen("IP:"), 0) == 1;
  }
  const std::string host = name.substr(std::strlen("DNS:"));
  return X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1;
}

// A time before the certificate's begin is no reason to replace it: machines without a battery
// start with a clock that is years behind.
bool expires_soon(const X509* certificate) {
  std::time_t limit = std::time(nullptr) + renewal_s;
  return X509_cmp_time(X509_get0_notAfter(certificate), &limit) <= 0;
}

// --- files ------------------------------------------------------------------------------------

std::string unwritable(const std::string& file, int error) {
  return fmt::format("can't write {}: {}", file, std::strerror(error));
}

// Replaces a file in one step.
Result<void, std::string> write_file(const std::string& file, const std::string& content,
                                     mode_t mode) {
  int error = write_unfinished(file, content, mode);
  if (error == 0) error = publish_over(file);
  if (error == 0) return {};
  ::unlink(unfinished(file).c_str());
  return std::unexpected(unwritable(file, error));
}

Result<Signer, std::string> make_signer(const std::string& directory, const std::string& file,
                                        const Machine& machine) {
  Signer made{.certificate = nullptr, .key = make_key(), .made_now = true};
  if (made.key != nullptr) {
    made.certificate = issue({.name = authority_name(machine),
                              .valid_days = authority_days,
                              .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                             {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                             {NID_ext_key_usage, "serverAuth"},
                                             {NID_name_constraints, name_constraints(machine)},
                                             {NID_subject_key_identifier, "hash"}}},
                             made.key.get(), nullptr, made.key.get());
  }
  const std::string key_text = pem_of(made.key.get());
  const std::string certificate_text = pem_of(made.certificate.get());
  if (key_text.empty() || certificate_text.empty()) {
    return std::unexpected(std::string("OpenSSL can't make a certificate authority"));
  }
  // The key first: if this process is killed now, the next one finds no certificate, or the one
  // that is to be replaced, and makes both again.
  Result<void, std::string> written = write_file(authority_key_file(directory), key_text, 0600);
  if (written) written = write_file(file, certificate_text, 0644);
  if (!written) return std::unexpected(std::move(written.error()));
  return made;
}

Result<Signer, std::string> open_signer(const std::string& directory, const std::string& file,
                                        const Machine& machine) {
  const auto useless = [&](const std::string& reason) {
    return std::unexpected(fmt::format("can't use the local CA: {}; to make another one, delete {}",
                                       reason, directory));
  };
  if (::access(file.c_str(), F_OK) != 0) {
    if (errno == ENOENT) return make_signer(directory, file, machine);
    return useless(fmt::format("{}: {}", file, std::strerror(errno)));
  }
  std::vector<Certificate> found = read_certificates(file);
  if (found.size() != 1 || X509_check_ca(found.front().get()) != 1) {
    return useless(file + " is not the certificate of an authority");
  }
  if (expires_soon(found.front().get())) return make_signer(directory, file, machine);
  const std::string key_file = authority_key_file(directory);
  Key key = read_key(key_file);
  if (!belongs_to(found.front().get(), key.get())) {
    return useless(fmt::format("{} is not the key of {}", key_file, file));
  }
  return Signer{std::move(found.front()), std::move(key), false};
}

// Returns true if the file's certificate can still be used.
bool is_current(const std::string& file, EVP_PKEY* key, const Signer& signer,
                const std::vector<std::string>& names) {
  const std::vector<Certificate> chain = read_certificates(file);
  if (chain.size() != 2 || X509_cmp(chain[1].get(), signer.certificate.get()) != 0) return false;
  X509* const own = chain[0].get();
  const bool usable =
      belongs_to(own, key) && X509_verify(own, signer.key.get()) == 1 && !expires_soon(own) &&
      std::ranges::all_of(names, [&](const auto& name) { return is_for(own, name); });
  ERR_clear_error();
  return usable;
}

Result<void, std::string> prepare_certificate(const LocalAuthority& files, const Signer& signer,
                                              const Machine& machine) {
  Key key = read_key(files.key_file);
  const bool has_key = key != nullptr;
  if (!has_key) key = make_key();
  const std::vector<std::string> names = permitted(names_of(machine), signer);
  if (has_key && is_current(files.certificate_file, key.get(), signer, names)) return {};
  const Certificate certificate = key != nullptr ? issue_for(names, key.get(), signer) : nullptr;
  const std::string key_text = pem_of(key.get());
  const std::string certificate_text = pem_of(certificate.get());
  if (key_text.empty() || certificate_text.empty()) {
    return std::unexpected(std::string("OpenSSL can't make a certificate for this machine"));
  }
  if (!has_key) {
    Result<void, std::string> written = write_file(files.key_file, key_text, 0600);
    if (!written) return written;
  }
  return write_file(files.certificate_file, certificate_text + pem_of(signer.certificate.get()),
                    0644);
}

}  // namespace

LocalAuthority local_authority_files(const std::string& directory) {
  return {.ca_file = directory + "/ca.crt",
          .certificate_file = directory + "/server.crt",
          .key_file = directory + "/server.key"};
}

Result<LocalAuthority, std::string> open_local_authority(const std::string& directory,
                                                         const Machine& machine) {
  LocalAuthority files = local_authority_files(directory);
  const int error = make_private_folder(directory);
  if (error == EPERM) {
    return std::unexpected(unwritable(directory, error) +
                           "; it must belong to the user who runs h2server");
  }
  if (error != 0) return std::unexpected(unwritable(directory, error));
  const base::Fd lock = lock_folder_of(files.ca_file);
  const Result<Signer, std::string> signer = open_signer(directory, files.ca_file, machine);
  if (!signer) return std::unexpected(signer.error());
  files.made_now = signer->made_now;
  const Result<void, std::string> prepared = prepare_certificate(files, *signer, machine);
  if (!prepared) return std::unexpected(prepared.error());
  return files;
}

Result<LocalAuthority, std::string> open_local_authority(const std::string& directory) {
  return open_local_authority(directory, this_machine());
}

std::optional<AuthorityCertificate> read_authority(const std::string& ca_file) {
  const std::vector<Certificate> found = read_certificates(ca_file);
  if (found.size() != 1) return std::nullopt;
  X509* const certificate = found.front().get();
  std::array<char, 65> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  const std::string fingerprint = fingerprint_of(certificate);
  if (fingerprint.empty()) return std::nullopt;
  return AuthorityCertificate{name.data(), fingerprint, pem_of(certificate)};
}

}  // namespace h2server::net
