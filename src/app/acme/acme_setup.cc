#include "app/acme/acme_setup.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "app/acme/acme_replicas.h"
#include "app/client/stores.h"
#include "app/system/state_directory.h"
#include "base/clock.h"
#include "base/log.h"
#include "h2server/request.h"
#include "h2server/response.h"

namespace h2server::app {

namespace {

constexpr std::string_view challenge_path = "/.well-known/acme-challenge/";

// A server that others have got a certificate for serves it from its start. One that has a
// certificate itself starts without the store.
Result<void, std::string> fetch_shared(const config::Configuration& configuration,
                                       const AcmeSite& site) {
  Result<AcmeSharing, std::string> sharing = open_sharing(configuration);
  if (!sharing) return std::unexpected("acme: " + sharing.error());
  if (sharing->store == nullptr) return {};
  Result<AcmeReplicas, std::string> replicas = AcmeReplicas::open(*std::move(sharing));
  if (!replicas) return std::unexpected("acme: " + replicas.error());
  const Result<bool, std::string> fetched = replicas->exchange(site, base::unix_seconds());
  if (fetched) return {};
  if (!find_issued(site.files, site.hosts)) return std::unexpected("acme: " + fetched.error());
  base::log_warning("acme: {}; {} starts with the certificate that is here", fetched.error(),
                    site.hosts.front());
  return {};
}

}  // namespace

Result<AcmeFiles, std::string> prepare_acme_site(const config::Configuration& configuration,
                                                 const config::Site& site) {
  const Result<std::string, std::string> state = state_directory();
  if (!state) return std::unexpected(state.error());
  AcmeFiles files =
      acme_files(acme_folder(*state, configuration.acme.directory), site.hosts.front());
  Result<void, std::string> prepared = prepare_acme_files(files);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  prepared = fetch_shared(configuration, {.hosts = site.hosts, .files = files});
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  return files;
}

Result<AcmeSharing, std::string> open_sharing(const config::Configuration& configuration) {
  const config::AcmeSettings& acme = configuration.acme;
  if (acme.store.empty()) return AcmeSharing();
  const auto stores = std::make_shared<Stores>();  // of its own: give_up() ends all of its calls
  config::StoreSettings settings;
  settings.place = acme.store;
  Result<std::shared_ptr<Store>, std::string> store = stores->open(settings);
  if (!store) return std::unexpected("can't use acme-store: " + store.error());
  return AcmeSharing{.store = *std::move(store),
                     .prefix = acme_name(acme.directory) + '/',
                     .give_up = [stores] { stores->stop(); }};
}

std::optional<AcmeOptions> acme_options(const config::Configuration& configuration,
                                        std::function<void()> changed) {
  const config::AcmeSettings& acme = configuration.acme;
  const Result<std::string, std::string> state = state_directory_name();
  if (!state || std::ranges::none_of(configuration.sites, &config::Site::acme)) {
    return std::nullopt;
  }
  AcmeOptions options{.directory = acme.directory,
                      .email = acme.email,
                      .folder = acme_folder(*state, acme.directory),
                      .challenge = acme.http_challenge ? AcmeChallenges::Kind::http
                                                       : AcmeChallenges::Kind::tls_alpn,
                      .sites = {},
                      .changed = std::move(changed)};
  for (const config::Site& site : configuration.sites) {
    if (!site.acme) continue;
    options.sites.push_back(
        {.hosts = site.hosts, .files = acme_files(options.folder, site.hosts.front())});
  }
  return options;
}

Middleware acme_answers(const AcmeChallenges& challenges) {
  return [&challenges](Request& request) -> std::optional<Response> {
    const std::string_view path = request.path();
    if (request.head().encrypted || !path.starts_with(challenge_path)) return std::nullopt;
    std::optional<std::string> answer = challenges.answer(path.substr(challenge_path.size()));
    if (!answer) return std::nullopt;
    Response response = Response::text(*std::move(answer));
    response.replace("Content-Type", "application/octet-stream");
    response.replace("Cache-Control", "no-store");
    return response;
  };
}

}  // namespace h2server::app
