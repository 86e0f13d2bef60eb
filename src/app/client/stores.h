// Stores: the object stores of a generation's sites, and the directories with copies. Sites with
// the same place share one.
//
// For one thread. What it opens may be used by any, and must not be used after its end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/client/identity_credentials.h"
#include "config/configuration.h"
#include "content/cache/disk_cache.h"
#include "content/s3/credentials.h"
#include "content/s3/s3_store.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::app {

// A store, and where copies of its objects are kept.
struct OpenedStore {
  std::shared_ptr<Store> store;
  content::DiskPlace copies;
};

class Stores {
 public:
  // Asks the store for nothing yet. The error says what to do.
  Result<std::shared_ptr<Store>, std::string> open(const config::StoreSettings& settings);
  // Returns where copies of a store's objects are kept. Blocks on the disk. The store was opened,
  // and the directory is not empty. The error is an errno value.
  Result<content::DiskPlace, int> open_copies(const config::StoreSettings& settings);
  // Ends what is under way. Call it when the server has ended.
  void stop() noexcept;

 private:
  // What the environment says. The error says what to do.
  Result<content::s3::CredentialsOptions, std::string> find_credentials(const std::string& region);

  std::shared_ptr<IdentityCredentials> identity_;  // null: there is no store with a web identity
  std::map<std::string, std::shared_ptr<content::s3::S3Store>> stores_;  // by URL and options
  // By directory and size. Two sizes for one directory are two caches, as of two processes.
  std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<content::DiskCache>> caches_;
};

// Returns the key by which a site with the place `outer` ("s3://BUCKET/PREFIX") has what lies in
// `folder` of the place `inner`; nullopt if it lies elsewhere. A bucket of the same name counts as
// the same: an address can be spelled in many ways.
[[nodiscard]] std::optional<std::string> key_below(const std::string& outer,
                                                   const std::string& inner,
                                                   std::string_view folder);

}  // namespace h2server::app
