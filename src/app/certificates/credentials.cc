#include "app/certificates/credentials.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "app/acme/acme_setup.h"
#include "app/system/state_directory.h"
#include "app/system/stop.h"
#include "app/trust/trust.h"
#include "base/fd.h"
#include "base/log.h"
#include "net/certs/folder_lock.h"
#include "net/certs/tls_authority.h"
#include "net/certs/tls_certificate.h"
#include "net/certs/tls_inspection.h"

namespace h2server::app {

namespace {

constexpr int renewal_days = 30;

bool is_there(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

// Returns true if the file holds a certificate that expires within that many days.
bool expires_within(const std::string& certificate_file, int days) {
  const auto facts = net::inspect_certificate(certificate_file);
  return facts && facts->end_s < std::time(nullptr) + std::int64_t{days} * 24 * 3600;
}

// Makes a pair if neither file exists.
Result<void, std::string> make_missing(const CertificatePair& pair) {
  const std::string& certificate = pair.certificate_file;
  const bool has_certificate = is_there(certificate);
  const bool has_key = is_there(pair.key_file);
  if (!has_certificate && !has_key) {
    Result<void, std::string> made = net::make_self_signed(certificate, pair.key_file);
    if (!made) made.error() += "; name another place with --cert and --key";
    return made;
  }
  if (!has_certificate) net::finish_self_signed(certificate, pair.key_file);
  return {};
}

Result<void, std::string> prepare_self_signed(const CertificatePair& pair) {
  const std::string& certificate = pair.certificate_file;
  if (expires_within(certificate, 0)) {
    base::log_warning("--self-signed makes a new certificate when both {} and {} are deleted",
                      certificate, pair.key_file);
  }
  return make_missing(pair);
}

void name_pair(CertificatePair& pair, const std::string& directory) {
  pair.certificate_file = directory + "/server.crt";
  pair.key_file = directory + "/server.key";
}

std::string own_directory(const std::string& state) { return state + "/self-signed"; }

bool is_usable(const CertificatePair& pair) {
  const auto fit = net::inspect_key(pair.certificate_file, pair.key_file);
  return fit == net::KeyFit::fits && !expires_within(pair.certificate_file, renewal_days);
}

// Removes a pair of our own that is damaged or expires soon: nobody else has a use for it.
void remove_useless(const CertificatePair& pair) {
  const base::Fd lock = net::lock_folder_of(pair.key_file);  // another server may be renewing it
  const bool some = is_there(pair.certificate_file) || is_there(pair.key_file);
  if (!some || is_usable(pair)) return;
  for (const std::string& file : {pair.certificate_file, pair.key_file}) {
    if (::unlink(file.c_str()) == 0 || errno == ENOENT) continue;
    base::log_warning("can't renew {}: {}", file, std::strerror(errno));
  }
}

Result<void, std::string> prepare_own(CertificatePair& pair, const std::string& directory) {
  name_pair(pair, directory);
  // A certificate without its last name is finished first, since it is not useless.
  Result<void, std::string> made = make_missing(pair);
  if (!made) return made;
  remove_useless(pair);
  return make_missing(pair);
}

Result<Credentials, std::string> prepare_own(CertificatePair& pair) {
  Result<std::string, std::string> state = state_directory();
  if (state && ::access(state->c_str(), W_OK | X_OK) != 0) {
    state = std::unexpected(fmt::format("can't write to {}: {}", *state, std::strerror(errno)));
  }
  if (state) {
    const Result<void, std::string> made = prepare_own(pair, own_directory(*state));
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
  const Result<void, std::string> made = prepare_own(pair, directory);
  if (!made) return std::unexpected(made.error());
  return Credentials{.temporary_directory = std::move(directory)};
}

Result<void, std::string> prepare_issued(CertificatePair& pair, Credentials& credentials) {
  const Result<std::string, std::string> directory = prepare_authority_directory();
  if (!directory) return std::unexpected(directory.error());
  Result<net::LocalAuthority, std::string> authority = net::open_local_authority(*directory);
  if (!authority) {
    return std::unexpected(authority.error() + "; before, run `h2server trust --remove`");
  }
  pair.certificate_file = std::move(authority->certificate_file);
  pair.key_file = std::move(authority->key_file);
  credentials.authority_file = std::move(authority->ca_file);
  credentials.authority_is_new = authority->made_now;
  return {};
}

Result<void, Stop> check_readable(const CertificateFiles& pair) {
  for (const auto& [file, what, option] :
       {std::tuple(pair.certificate_file, "certificate", "--cert"),
        std::tuple(pair.key_file, "private key", "--key")}) {
    if (::access(file.c_str(), R_OK) == 0) continue;
    return std::unexpected(Stop{
        exit_wrong_use, fmt::format("can't read the {} {} ({}); name it with {}, make both with "
                                    "--self-signed, or serve without TLS with --h2c",
                                    what, file, std::strerror(errno), option)});
  }
  return {};
}

}  // namespace

CertificatePair own_pair() {
  CertificatePair pair;
  const Result<std::string, std::string> state = state_directory_name();
  if (state) name_pair(pair, own_directory(*state));
  return pair;
}

namespace {

// The pair of a site. Those that the program makes for itself are made once for all sites.
class Preparation {
 public:
  explicit Preparation(const config::Configuration& configuration)
      : configuration_(configuration) {}

  Result<CertificatePair, Stop> pair_of(const config::Site& site) {
    if (site.acme) {
      Result<AcmeFiles, std::string> files = prepare_acme_site(configuration_, site);
      if (!files) return std::unexpected(Stop{exit_failed, std::move(files.error())});
      return CertificatePair{std::move(files->certificate), std::move(files->key)};
    }
    switch (site.certificate) {
      case config::CertificateSource::own:
        return once(own_, [this](CertificatePair& pair) -> Result<void, std::string> {
          Result<Credentials, std::string> made = prepare_own(pair);
          if (!made) return std::unexpected(std::move(made.error()));
          credentials.temporary_directory = std::move(made->temporary_directory);
          return {};
        });
      case config::CertificateSource::local_authority:
        return once(issued_,
                    [this](CertificatePair& pair) { return prepare_issued(pair, credentials); });
      case config::CertificateSource::self_signed: {
        const CertificatePair pair{site.certificate_file, site.key_file};
        const Result<void, std::string> made = prepare_self_signed(pair);
        if (!made) return std::unexpected(Stop{exit_failed, made.error()});
        return pair;
      }
      case config::CertificateSource::files:
        break;
    }
    return CertificatePair{site.certificate_file, site.key_file};
  }

  Credentials credentials;

 private:
  template <class Make>
  static Result<CertificatePair, Stop> once(std::optional<CertificatePair>& known, Make make) {
    if (known) return *known;
    CertificatePair pair;
    const Result<void, std::string> made = make(pair);
    if (!made) return std::unexpected(Stop{exit_failed, made.error()});
    known = pair;
    return pair;
  }

  const config::Configuration& configuration_;
  std::optional<CertificatePair> own_;
  std::optional<CertificatePair> issued_;
};

// The site whose certificate clients get that name no host, or an unknown one.
const config::Site& default_site(const config::Configuration& configuration) {
  const auto found = std::ranges::find_if(configuration.sites,
                                          [](const auto& site) { return site.hosts.empty(); });
  return found != configuration.sites.end() ? *found : configuration.sites.front();
}

}  // namespace

Result<Credentials, Stop> prepare_credentials(config::Configuration& configuration) {
  Preparation preparation(configuration);
  if (std::ranges::all_of(configuration.listeners, &config::Listener::cleartext)) {
    return std::move(preparation.credentials);
  }
  ServerOptions& server = configuration.server;
  const config::Site& usual = default_site(configuration);
  for (const config::Site& site : configuration.sites) {
    const Result<CertificatePair, Stop> pair = preparation.pair_of(site);
    if (!pair) return std::unexpected(pair.error());
    std::vector<CertificateFiles> all = {{pair->certificate_file, pair->key_file, site.ocsp_file}};
    all.insert(all.end(), site.more_certificates.begin(), site.more_certificates.end());
    for (const CertificateFiles& one : all) {
      const Result<void, Stop> readable = check_readable(one);
      if (!readable) return std::unexpected(readable.error());
    }
    if (&site == &usual) {
      server.certificate_file = pair->certificate_file;
      server.key_file = pair->key_file;
      server.ocsp_file = site.ocsp_file;
      server.more_certificates = site.more_certificates;
    }
    if (!site.hosts.empty()) {
      server.host_certificates.push_back({site.hosts, pair->certificate_file, pair->key_file,
                                          site.ocsp_file, site.more_certificates});
    }
  }
  const auto facts = net::inspect_certificate(server.certificate_file);
  if (facts) preparation.credentials.fingerprint = facts->fingerprint;
  return std::move(preparation.credentials);
}

}  // namespace h2server::app
