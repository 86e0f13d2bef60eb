#include "app/stores.h"

#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/clock.h"
#include "content/counted_store.h"
#include "content/s3/credentials.h"
#include "content/s3/location.h"
#include "content/s3/transfers.h"

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

}  // namespace

Result<std::shared_ptr<Store>, std::string> Stores::open(const config::StoreSettings& settings) {
  if (!content::s3::Transfers::available()) {
    return std::unexpected("this h2server was built without libcurl");
  }
  const std::string endpoint =
      value_of(settings.endpoint, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  const std::string region = value_of(settings.region, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  Result<Location, std::string> location = content::s3::make_location(
      {.place = settings.place, .endpoint = endpoint, .region = region, .style = settings.style});
  if (!location) return std::unexpected(std::move(location.error()));
  const std::string key = location->base_url + location->prefix + " " + location->region;
  const auto known = stores_.find(key);
  if (known != stores_.end()) return std::make_shared<content::CountedStore>(known->second);
  Result<CredentialsOptions, std::string> credentials =
      content::s3::credentials_options_of_environment();
  if (!credentials) return std::unexpected(std::move(credentials.error()));
  // Later, the file may be missing for a while, but not at the start.
  const Result<CredentialsRef, std::string> found =
      CredentialsSource(*credentials).current(base::monotonic_ms() / 1000);
  if (!found) return std::unexpected(found.error());
  auto store = std::make_shared<S3Store>(
      content::s3::S3StoreOptions{.location = *std::move(location),
                                  .credentials = *std::move(credentials),
                                  .ca_file = value_of({}, {"AWS_CA_BUNDLE"})});
  stores_.emplace(key, store);
  return std::make_shared<content::CountedStore>(std::move(store));
}

void Stores::stop() noexcept {
  for (const auto& [place, store] : stores_) store->stop();
}

}  // namespace h2server::app
