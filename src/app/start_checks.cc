#include "app/start_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/options/options.h"
#include "app/site.h"
#include "base/log.h"
#include "h2server/server.h"
#include "net/certs/tls_inspection.h"
#include "net/tls/tls_context.h"
#include "server/system_limits.h"
#include "server/ticket_key_file.h"

namespace h2server::app {

namespace {

using config::CertificateSource;
using config::Configuration;
using config::Problems;
using config::Site;

// Adds a problem where the first of the keys stands that was given; else where the site stands.
void add(const Site& site, std::initializer_list<std::string_view> keys, const std::string& text,
         Problems& problems) {
  for (const std::string_view key : keys) {
    const auto found = site.places.find(key);
    if (found == site.places.end()) continue;
    const bool in_file = !found->second.file.empty();
    problems.add(found->second, in_file ? fmt::format("{}: {}", key, text) : text);
    return;
  }
  problems.add(site.place, text);
}

// --- sites --------------------------------------------------------------------------------------

// Adds the sites to a server that does not run. Returns what is wrong, or an empty text.
std::string try_sites(Configuration configuration) {
  // The start makes the directories that are missing.
  for (Site& site : configuration.sites) site.upload_directory.clear();
  UploadHooks hooks;
  Server server;
  Stores stores;
  const std::vector<ShownToken> none;
  const AcmeChallenges no_challenges;
  const auto added =
      add_sites({configuration, nullptr, hooks, stores, none, no_challenges}, server);
  return added ? std::string() : added.error().text;
}

// Tries the parts of a site one by one: each may be wrong.
void check_site(const Configuration& alone, Problems& problems) {
  const Site& site = alone.sites.front();
  Configuration part = alone;
  part.sites.front().error_pages.clear();
  part.sites.front().protected_paths.clear();
  const std::string wrong_root = try_sites(part);
  if (!wrong_root.empty()) {
    add(site, {"root", "store"}, wrong_root, problems);
    return;
  }
  for (const config::ProtectedPath& area : site.protected_paths) {
    part.sites.front().protected_paths = {area};
    const std::string wrong_area = try_sites(part);
    if (!wrong_area.empty()) add(site, {"auth"}, wrong_area, problems);
  }
  part.sites.front().protected_paths.clear();
  part.sites.front().error_pages = site.error_pages;
  const std::string wrong_pages = try_sites(part);
  if (!wrong_pages.empty()) add(site, {"error-pages"}, wrong_pages, problems);
}

void check_upload_places(const Site& site, Problems& problems) {
  if (!site.upload_token_file.empty()) {
    const auto right = check_upload_tokens(site.upload_token_file);
    if (!right) add(site, {"upload-token"}, right.error(), problems);
  }
  if (!site.upload_hook.empty()) {
    const auto program = UploadHook::find_program(site.upload_hook);
    if (!program) add(site, {"upload-hook"}, program.error(), problems);
  }
}

// Finds the sites that are wrong by halves: most are right, and each try reads files that are the
// same for all.
void check_sites(const Configuration& configuration, Problems& problems) {
  const std::string all = try_sites(configuration);
  if (all.empty()) return;
  const std::vector<Site>& sites = configuration.sites;
  if (sites.size() == 1) {
    check_site(configuration, problems);
    return;
  }
  const auto middle = sites.begin() + static_cast<std::ptrdiff_t>(sites.size() / 2);
  Configuration half = configuration;
  half.sites.assign(sites.begin(), middle);
  check_sites(half, problems);
  half.sites.assign(middle, sites.end());
  check_sites(half, problems);
  // Each is right by itself, but together they may take too many descriptors.
  if (problems.none()) problems.add({}, all);
}

// --- certificates -------------------------------------------------------------------------------

// Returns true if the start reads files that exist: it makes the others.
bool reads_pair(const Site& site) {
  switch (site.certificate) {
    case CertificateSource::files:
      return true;
    case CertificateSource::self_signed:
      return ::access(site.certificate_file.c_str(), F_OK) == 0;
    case CertificateSource::own:
    case CertificateSource::local_authority:
      break;
  }
  return false;
}

// Returns true if the file's whole name stands in the error.
bool names(std::string_view error, const std::string& file) {
  if (file.empty()) return false;
  constexpr std::string_view ends = " :;,()'";
  for (std::size_t at = error.find(file); at != error.npos; at = error.find(file, at + 1)) {
    const std::size_t end = at + file.size();
    const bool begins = at == 0 || ends.contains(error[at - 1]);
    if (begins && (end == error.size() || ends.contains(error[end]))) return true;
  }
  return false;
}

// Returns the key of the option whose value an error of `pairs` is about.
std::string_view wrong_key_of(const std::vector<CertificateFiles>& pairs,
                              const std::string& error) {
  for (const CertificateFiles& pair : pairs) {
    if (!names(error, pair.certificate_file) && !names(error, pair.key_file)) continue;
    // The key is wrong if the certificate is right.
    if (!net::inspect_certificate(pair.certificate_file)) return "cert";
    if (names(error, pair.key_file)) return "key";
  }
  return error.contains("OCSP response") ? "ocsp" : "cert";
}

void check_pairs(const Site& site, const std::vector<CertificateFiles>& pairs, Problems& problems) {
  bool encrypted = false;
  const net::Passphrase no_passphrase =
      [&encrypted](const std::string&) -> Result<std::string, std::string> {
    encrypted = true;
    return std::unexpected("it is encrypted");
  };
  const auto context = net::TlsContext::open({.certificates = pairs, .passphrase = no_passphrase});
  if (context) {
    for (const std::string& warning : (*context)->warnings()) base::log_warning("{}", warning);
    return;
  }
  if (encrypted) return;
  add(site, {wrong_key_of(pairs, context.error()), "cert", "key"}, context.error(), problems);
}

void check_certificates(const Configuration& configuration, Problems& problems) {
  if (std::ranges::all_of(configuration.listeners, &config::Listener::cleartext)) return;
  for (const std::string& file : configuration.server.ticket_key_files) {
    const Result<std::string, std::string> secret = server::read_ticket_key(file);
    if (!secret) problems.add({}, secret.error());
  }
  std::set<std::vector<CertificateFiles>> known;  // sites may share them
  for (const Site& site : configuration.sites) {
    if (!reads_pair(site)) continue;
    std::vector<CertificateFiles> pairs = {{site.certificate_file, site.key_file, site.ocsp_file}};
    pairs.insert(pairs.end(), site.more_certificates.begin(), site.more_certificates.end());
    if (known.insert(pairs).second) check_pairs(site, pairs, problems);
  }
}

}  // namespace

void check_start(const Configuration& configuration, Problems& problems) {
  server::raise_descriptor_limit();  // each root takes some
  check_sites(configuration, problems);
  for (const Site& site : configuration.sites) check_upload_places(site, problems);
  check_certificates(configuration, problems);
}

std::string with_option(const std::vector<CertificateFiles>& pairs, const std::string& error) {
  for (const CertificateFiles& pair : pairs) {
    for (const std::string& file : {pair.certificate_file, pair.key_file, pair.ocsp_file}) {
      if (names(error, file)) return fmt::format("--{}: {}", wrong_key_of(pairs, error), error);
    }
  }
  return error;
}

}  // namespace h2server::app
