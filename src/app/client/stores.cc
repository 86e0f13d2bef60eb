#include "app/client/stores.h"

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/clock.h"
#include "content/s3/location.h"
#include "content/s3/transfers.h"
#include "content/s3/web_identity.h"
#include "content/store/counted_store.h"

namespace h2server::app {

namespace {

using content::s3::CredentialsOptions;
using content::s3::CredentialsRef;
using content::s3::CredentialsSource;
using content::s3::Location;
using content::s3::S3Store;

// Returns the value that was given, else that of the first variable that is set.
std::string value_of(const std::string& given, std::initializer_list<const char*> variables) {
  if (!given.empty()) return given;
  for (const char* const name : variables) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

// Later, a file may be missing for a while, but not at the start. The STS is asked once the store
// is.
Result<void, std::string> check_files(const CredentialsOptions& options) {
  if (options.identity.role.empty()) {
    const Result<CredentialsRef, std::string> found =
        CredentialsSource(options).current(base::monotonic_ms() / 1000);
    if (!found) return std::unexpected(found.error());
    return {};
  }
  const std::string& file = options.identity.token_file;
  const Result<std::string, std::string> text = content::s3::read_text_file(file);
  if (!text) return std::unexpected("no credentials: " + file + ": " + text.error());
  return {};
}

Result<Location, std::string> location_of(const config::StoreSettings& settings) {
  const std::string endpoint =
      value_of(settings.endpoint, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  const std::string region = value_of(settings.region, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  return content::s3::make_location(
      {.place = settings.place, .endpoint = endpoint, .region = region, .style = settings.style});
}

std::string store_identity(const Location& location) {
  return location.base_url + location.prefix + " " + location.region;
}

}  // namespace

std::optional<std::string> key_below(const std::string& outer, const std::string& inner,
                                     std::string_view folder) {
  const Result<Location, std::string> served = content::s3::make_location({.place = outer});
  const Result<Location, std::string> kept = content::s3::make_location({.place = inner});
  // What is no location is refused when it is opened.
  if (!served || !kept || served->bucket != kept->bucket) return std::nullopt;
  std::string key = fmt::format("{}{}/", kept->prefix, folder);
  if (!key.starts_with(served->prefix)) return std::nullopt;
  return key.substr(served->prefix.size());
}

Result<CredentialsOptions, std::string> Stores::find_credentials(const std::string& region) {
  Result<CredentialsOptions, std::string> found = content::s3::credentials_options_of_environment();
  if (!found) return found;
  const Result<void, std::string> sound = check_files(*found);
  if (!sound) return std::unexpected(sound.error());
  if (found->identity.role.empty()) return found;
  if (identity_ == nullptr) {
    std::string url = value_of({}, {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"});
    if (url.empty()) url = content::s3::sts_of_aws(region);
    identity_ = std::make_shared<IdentityCredentials>(
        IdentityOptions{.identity = found->identity,
                        .sts_url = std::move(url),
                        .ca_file = value_of({}, {"AWS_CA_BUNDLE"})});
  }
  found->ask = [identity = identity_] { return identity->current(); };
  return found;
}

Result<std::shared_ptr<Store>, std::string> Stores::open(const config::StoreSettings& settings) {
  if (!content::s3::Transfers::available()) {
    return std::unexpected("this h2server was built without libcurl");
  }
  Result<Location, std::string> location = location_of(settings);
  if (!location) return std::unexpected(std::move(location.error()));
  const std::string key = fmt::format("{} {}", store_identity(*location), settings.hedge.count());
  const auto known = stores_.find(key);
  if (known != stores_.end()) return std::make_shared<content::CountedStore>(known->second);
  Result<CredentialsOptions, std::string> credentials = find_credentials(location->region);
  if (!credentials) return std::unexpected(std::move(credentials.error()));
  auto store = std::make_shared<S3Store>(
      content::s3::S3StoreOptions{.location = *std::move(location),
                                  .credentials = *std::move(credentials),
                                  .ca_file = value_of({}, {"AWS_CA_BUNDLE"}),
                                  .retries = {.hedge_after = settings.hedge}});
  stores_.emplace(key, store);
  return std::make_shared<content::CountedStore>(std::move(store));
}

Result<content::DiskPlace, int> Stores::open_copies(const config::StoreSettings& settings) {
  std::shared_ptr<content::DiskCache>& known =
      caches_[{settings.cache_directory, settings.cache_bytes}];
  if (known == nullptr) {
    auto opened =
        content::DiskCache::open(settings.cache_directory, {.bytes_max = settings.cache_bytes});
    if (!opened) return std::unexpected(opened.error());
    known = *std::move(opened);
  }
  return content::DiskPlace{.cache = known, .store = store_identity(*location_of(settings))};
}

void Stores::stop() noexcept {
  if (identity_ != nullptr) identity_->stop();
  for (const auto& [place, store] : stores_) store->stop();
}

}  // namespace h2server::app
