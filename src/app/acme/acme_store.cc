#include "app/acme/acme_store.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"
#include "base/log.h"
#include "base/text/text.h"
#include "file/whole_file.h"
#include "net/certs/folder_lock.h"
#include "net/certs/new_file.h"
#include "net/certs/tls_certificate.h"
#include "net/certs/tls_inspection.h"
#include "net/tls/tls_context.h"

namespace h2server::app {

namespace {

constexpr std::size_t key_bytes_max = 16 * 1024;
constexpr std::size_t file_bytes_max = 2 * 1024 * 1024;  // more than a chain that is downloaded

bool fits(const std::string& certificate, const std::string& key) {
  const auto fit = net::inspect_key(certificate, key);
  return fit && *fit == net::KeyFit::fits;
}

std::unexpected<std::string> cannot_keep(const std::string& file, int error) {
  return std::unexpected(fmt::format("acme: can't keep {}: {}", file, std::strerror(error)));
}

std::unexpected<std::string> cannot_read(const std::string& file, int error) {
  return std::unexpected(fmt::format("acme: can't read {}: {}", file, std::strerror(error)));
}

// keep_issued() may have been interrupted between the certificate and its key.
bool finish_key(const AcmeFiles& files) {
  return fits(files.certificate, net::unfinished(files.key)) && net::publish_over(files.key) == 0;
}

// A file that can't be read now (EACCES, EMFILE, EIO) may be whole: the operator decides.
Result<void, std::string> check_kept_file(const std::string& file) {
  const Result<std::string, int> text = file::read_whole_file(file, file_bytes_max);
  if (text || text.error() == ENOENT) return {};
  return cannot_read(file, text.error());
}

// Makes room for another file. Deletes nothing that may be a key, but what was set aside before.
Result<void, std::string> set_aside(const std::string& file) {
  const std::string aside = file + ".damaged";
  if (::rename(file.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return cannot_keep(file, errno);
  }
  base::log_warning("acme: {} is damaged: it is {} now, and another one is made", file, aside);
  return {};
}

}  // namespace

std::string acme_name(std::string_view directory_url) {
  const std::size_t scheme = directory_url.find("://");
  std::string_view authority = directory_url.substr(scheme == directory_url.npos ? 0 : scheme + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  std::string name;
  for (const char c : authority) {
    const bool plain = base::is_alphanumeric(c) || c == '-' || (c == '.' && !name.empty());
    name += plain ? base::to_lower(c) : '_';
  }
  return name;
}

std::string acme_folder(const std::string& state_directory, std::string_view directory_url) {
  return state_directory + "/acme/" + acme_name(directory_url);
}

AcmeFiles acme_files(const std::string& folder, const std::string& first_host) {
  return {.certificate = folder + '/' + first_host + ".crt",
          .key = folder + '/' + first_host + ".key"};
}

Result<void, std::string> prepare_acme_files(const AcmeFiles& files) {
  const std::string folder = net::folder_of(files.certificate);
  if (const int error = net::make_private_folder(folder); error != 0) {
    return cannot_keep(folder, error);
  }
  {
    const base::Fd lock = net::lock_folder_of(files.key);
    for (const std::string& file : {files.certificate, files.key, net::unfinished(files.key)}) {
      Result<void, std::string> readable = check_kept_file(file);
      if (!readable) return readable;
    }
    if (fits(files.certificate, files.key) || finish_key(files)) return {};
    for (const std::string& file : {files.certificate, files.key}) {
      Result<void, std::string> aside = set_aside(file);
      if (!aside) return aside;
    }
  }
  return net::make_self_signed(files.certificate, files.key);
}

Result<std::string, std::string> open_account_key(const std::string& folder) {
  if (const int error = net::make_private_folder(folder); error != 0) {
    return cannot_keep(folder, error);
  }
  const std::string file = folder + "/account.key";
  const base::Fd lock = net::lock_folder_of(file);
  Result<std::string, int> text = file::read_whole_file(file, key_bytes_max);
  if (text) {
    if (net::SigningKey::from_pem(*text)) return *std::move(text);
    return std::unexpected(fmt::format(
        "acme: {} is not a key of an account; remove it to register a new account", file));
  }
  if (text.error() != ENOENT) return cannot_read(file, text.error());
  std::string pem = net::SigningKey::make().pem();
  int error = net::write_unfinished(file, pem, 0600);
  if (error == 0) error = net::publish(file);
  if (error != 0) return cannot_keep(file, error);
  return pem;
}

std::optional<IssuedCertificate> find_issued(const AcmeFiles& files,
                                             std::span<const std::string> hosts) {
  const auto facts = net::inspect_certificate(files.certificate);
  const bool usable = facts && !facts->self_signed && net::covers(files.certificate, hosts) &&
                      fits(files.certificate, files.key);
  if (!usable) return std::nullopt;
  return IssuedCertificate{.begin_s = facts->begin_s,
                           .end_s = facts->end_s,
                           .id = net::read_certificate_id(files.certificate)};
}

// The certificate first: its key is found under its unfinished name if this stops between the two.
Result<void, std::string> keep_issued(const AcmeFiles& files, std::string_view chain,
                                      std::string_view key) {
  const base::Fd lock = net::lock_folder_of(files.key);
  int error = net::write_unfinished(files.key, key, 0600);
  if (error == 0) error = net::write_unfinished(files.certificate, chain, 0600);
  if (error != 0) return cannot_keep(files.certificate, error);
  // A server that can't load the rest of the chain would not start any more.
  const auto loaded =
      net::TlsContext::open(net::unfinished(files.certificate), net::unfinished(files.key));
  if (!loaded) {
    return std::unexpected("the chain of the authority is of no use: " + loaded.error());
  }
  error = net::publish_over(files.certificate);
  if (error != 0) return cannot_keep(files.certificate, error);
  error = net::publish_over(files.key);
  if (error != 0) return cannot_keep(files.key, error);
  return {};
}

}  // namespace h2server::app
