#include "app/credentials.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "app/state_directory.h"
#include "app/trust.h"
#include "base/fd.h"
#include "base/log.h"
#include "net/folder_lock.h"
#include "net/tls_authority.h"
#include "net/tls_certificate.h"
#include "net/tls_inspection.h"

namespace h2server::app {

namespace {

constexpr int failed = 1;  // exit statuses
constexpr int wrong_use = 2;
constexpr int renewal_days = 30;

bool exists(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

// Returns true if the file holds a certificate that expires within that many days.
bool expires_within(const std::string& certificate_file, int days) {
  const auto facts = net::inspect_certificate(certificate_file);
  return facts && facts->end_s < std::time(nullptr) + std::int64_t{days} * 24 * 3600;
}

// Makes a pair if neither file exists.
Result<void, std::string> make_missing(const ServerOptions& server) {
  const std::string& certificate = server.certificate_file;
  const bool has_certificate = exists(certificate);
  const bool has_key = exists(server.key_file);
  if (!has_certificate && !has_key) return net::make_self_signed(certificate, server.key_file);
  if (!has_certificate) net::finish_self_signed(certificate, server.key_file);
  return {};
}

Result<void, std::string> prepare_self_signed(const ServerOptions& server) {
  const std::string& certificate = server.certificate_file;
  if (expires_within(certificate, 0)) {
    base::log_warning("--self-signed makes a new certificate when both {} and {} are deleted",
                      certificate, server.key_file);
  }
  return make_missing(server);
}

void name_pair(ServerOptions& server, const std::string& directory) {
  server.certificate_file = directory + "/server.crt";
  server.key_file = directory + "/server.key";
}

std::string own_directory(const std::string& state) { return state + "/self-signed"; }

bool is_usable(const ServerOptions& server) {
  const auto fit = net::inspect_key(server.certificate_file, server.key_file);
  return fit == net::KeyFit::fits && !expires_within(server.certificate_file, renewal_days);
}

// Removes a pair of our own that is damaged or expires soon: nobody else has a use for it.
void remove_useless(const ServerOptions& server) {
  const base::Fd lock = net::lock_folder_of(server.key_file);  // another server may be renewing it
  const bool some = exists(server.certificate_file) || exists(server.key_file);
  if (!some || is_usable(server)) return;
  for (const std::string& file : {server.certificate_file, server.key_file}) {
    if (::unlink(file.c_str()) == 0 || errno == ENOENT) continue;
    base::log_warning("can't renew {}: {}", file, std::strerror(errno));
  }
}

Result<void, std::string> prepare_own(ServerOptions& server, const std::string& directory) {
  name_pair(server, directory);
  // A certificate without its last name is finished first, since it is not useless.
  Result<void, std::string> made = make_missing(server);
  if (!made) return made;
  remove_useless(server);
  return make_missing(server);
}

Result<Credentials, std::string> prepare_own(ServerOptions& server) {
  Result<std::string, std::string> state = state_directory();
  if (state && ::access(state->c_str(), W_OK | X_OK) != 0) {
    state = std::unexpected(fmt::format("can't write to {}: {}", *state, std::strerror(errno)));
  }
  if (state) {
    const Result<void, std::string> made = prepare_own(server, own_directory(*state));
    if (!made) return std::unexpected(made.error());
    return Credentials{};
  }
  std::error_code failure;
  std::string directory = std::filesystem::temp_directory_path(failure) / "h2server-XXXXXX";
  if (failure || ::mkdtemp(directory.data()) == nullptr) {
    return std::unexpected(fmt::format(
        "can't keep a certificate: {}, and can't make {}: {}; name one with --cert and --key, or "
        "serve without TLS with --h2c",
        state.error(), directory, failure ? failure.message() : std::strerror(errno)));
  }
  base::log_warning("{}: the certificate is made anew at each start", state.error());
  const Result<void, std::string> made = prepare_own(server, directory);
  if (!made) return std::unexpected(made.error());
  return Credentials{.temporary_directory = std::move(directory)};
}

Result<void, std::string> prepare_issued(ServerOptions& server, Credentials& credentials) {
  const Result<std::string, std::string> directory = prepare_authority_directory();
  if (!directory) return std::unexpected(directory.error());
  Result<net::LocalAuthority, std::string> authority = net::open_local_authority(*directory);
  if (!authority) return std::unexpected(std::move(authority.error()));
  server.certificate_file = std::move(authority->certificate_file);
  server.key_file = std::move(authority->key_file);
  credentials.authority_file = std::move(authority->ca_file);
  credentials.authority_is_new = authority->made_now;
  return {};
}

Result<void, Stop> check_readable(const ServerOptions& server) {
  for (const auto& [file, what, option] :
       {std::tuple(server.certificate_file, "certificate", "--cert"),
        std::tuple(server.key_file, "private key", "--key")}) {
    if (::access(file.c_str(), R_OK) == 0) continue;
    return std::unexpected(
        Stop{wrong_use, fmt::format("can't read the {} {} ({}); name it with {}, make both with "
                                    "--self-signed, or serve without TLS with --h2c",
                                    what, file, std::strerror(errno), option)});
  }
  return {};
}

}  // namespace

void name_own_credentials(ServerOptions& server) {
  const Result<std::string, std::string> state = state_directory_name();
  if (state) name_pair(server, own_directory(*state));
}

Result<Credentials, Stop> prepare_credentials(Options& options) {
  Credentials credentials;
  if (options.server.cleartext) return credentials;
  if (options.certificate == CertificateSource::own) {
    Result<Credentials, std::string> made = prepare_own(options.server);
    if (!made) return std::unexpected(Stop{failed, std::move(made.error())});
    credentials = *std::move(made);
  } else if (options.certificate == CertificateSource::local_authority) {
    const Result<void, std::string> made = prepare_issued(options.server, credentials);
    if (!made) return std::unexpected(Stop{failed, made.error()});
  } else if (options.certificate == CertificateSource::self_signed) {
    Result<void, std::string> made = prepare_self_signed(options.server);
    if (!made) return std::unexpected(Stop{failed, std::move(made.error())});
  }
  const Result<void, Stop> readable = check_readable(options.server);
  if (!readable) return std::unexpected(readable.error());
  const auto facts = net::inspect_certificate(options.server.certificate_file);
  if (facts) credentials.fingerprint = facts->fingerprint;
  return credentials;
}

}  // namespace h2server::app
