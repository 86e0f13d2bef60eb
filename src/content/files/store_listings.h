// StoreListings: what the folders of a store contain, read once for many requests. Shared by all
// workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "content/files/listings.h"
#include "coro/single_flight.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

// The server has keys with this segment for itself: at the top of a site's prefix, and of where its
// uploads go. They are neither served nor listed.
constexpr std::string_view own_name = ".h2server";

struct StoreListingsLimits {
  std::size_t pages_max = 20;     // of a folder: of S3's each has 1000 entries and takes 50 ms
  std::int64_t fresh_ms = 1000;   // a listing is used for that long
  std::size_t folders_max = 256;  // are kept
  std::size_t bytes_max = 64 * 1024 * 1024;  // of them; as that of ListingsLimits
  static constexpr unsigned parts = 16;
};

class StoreListings {
 public:
  // `hidden`: also names that begin with ".".
  StoreListings(std::shared_ptr<Store> store, bool hidden, const StoreListingsLimits& limits = {})
      : store_(std::move(store)), hidden_(hidden), limits_(limits) {}

  // Returns the entries below the prefix, empty or ending in a slash; Kind::absent if there are
  // none at all. While one request reads a folder, others wait for its result.
  [[nodiscard]] Task<StoreResult<FolderEntriesRef>> find(std::string prefix);

 private:
  using Listed = StoreResult<FolderEntriesRef>;
  using Reading = coro::SingleFlight<Listed>;
  struct Kept {
    FolderEntriesRef entries;
    std::size_t bytes;
    std::int64_t read_ms;
  };
  using KeptMap = std::map<std::string, Kept, std::less<>>;

  Task<Listed> read(std::string prefix) const;
  void add(const ListPage& page, FolderEntries& entries) const;
  void keep(const std::string& prefix, const Listed& listed);
  // With the lock held.
  KeptMap::iterator drop(KeptMap::iterator kept);
  void make_room(std::int64_t now_ms);

  const std::shared_ptr<Store> store_;
  const bool hidden_;
  const StoreListingsLimits limits_;
  std::mutex mutex_;  // for all below
  KeptMap kept_;
  Reading reading_{mutex_};
};

}  // namespace h2server::content
