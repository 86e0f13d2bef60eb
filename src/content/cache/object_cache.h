// ObjectCache: objects of a store, kept for many requests: small ones in memory, larger ones in
// files of a DiskCache, if there is one.
//
// They are files of the process's file cache, in a folder without a directory, so a hit costs what
// a file from a disk costs. What is older than `fresh_ms` is compared with the store by its tag.
// One request loads or compares an object, and others that come meanwhile take its result; when it
// is given up, the next one of them goes on.
//
// Shared by all workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "content/cache/disk_cache.h"
#include "content/coding/encoded_copies.h"
#include "coro/single_flight.h"
#include "file/folder.h"
#include "h2server/store.h"
#include "h2server/task.h"
#include "http/fields/media_type.h"

namespace h2server::content {

struct ObjectCacheLimits {
  std::int64_t fresh_ms = 1000;  // what is kept is used for that long; 0: nothing is kept
  // And for so much longer while one request compares it with the store, so that a hot object does
  // not stop all its clients each second.
  std::int64_t stale_ms = 1000;
  std::uint64_t object_bytes_max = 1024 * 1024;  // larger ones take long to come whole
  // A request does not take the result of one that began longer before: it may have read an object
  // that has changed since.
  std::int64_t share_ms = 1000;
  // How long it is remembered that an object is too large, also for the disk. It is then asked for
  // as the client asks.
  std::int64_t unkept_ms = 60'000;
};

class ObjectCache {
 public:
  // `types` are for objects whose store knows none. `budget` is for the bytes of all objects, also
  // those that are only being sent. `disk` may be nowhere.
  ObjectCache(std::shared_ptr<Store> store, http::MediaTypesRef types,
              const ObjectCacheLimits& limits = {}, file::Cache& cache = file::Cache::of_process(),
              CopyBudget& budget = budget_of_process(), DiskPlace disk = {});
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ~ObjectCache();

  // Returns what is kept and fresh: a file, `absent`, `unkept`; of a key that ends in "/",
  // `directory` or `absent`. Does not ask the store.
  [[nodiscard]] std::optional<file::Lookup> known(std::string_view key) const {
    return folder_.known(key);
  }

  enum class Load : bool { no, yes };
  struct Found {
    FileRef file = {};  // null: the object is not kept
    // The whole object, for the caller to send. Reading it may put it on the disk.
    std::optional<OpenedObject> opened = {};
  };
  // Without a file and an opened object, the caller asks the store itself. With `no`, only what is
  // kept already is compared with the store and returned.
  [[nodiscard]] Task<StoreResult<Found>> find(std::string key, Load load);
  // Returns true if there are keys that begin with this one and "/".
  [[nodiscard]] Task<bool> is_folder(std::string key);

  // 384 MiB: half more than the file cache holds.
  static CopyBudget& budget_of_process();

 private:
  using Lookup = file::Lookup;
  using Outcome = StoreResult<Lookup>;
  using Asking = coro::SingleFlight<Outcome>;
  // What a request is to do.
  struct Plan {
    std::optional<Lookup> kept = {};  // use that
    Asking::Part part = {};           // otherwise: ask the store, or wait for another
    FileRef stale = {};               // to ask: what to compare
  };

  void make(Plan& plan, const std::string& key, Load load);
  // Does it. An object that is not kept may be put into `opened`.
  Task<Outcome> look(std::string key, Load load, std::optional<OpenedObject>& opened);
  // What a request that has the turn asks the store for.
  struct Question {
    std::string key;
    Load load;
    std::int64_t now_ms;  // what the store says is true then
    FileRef stale;        // what is kept; null: nothing
  };
  // These ask the store, and keep what they find out.
  Task<Outcome> ask(Question question, std::optional<OpenedObject>& opened);
  Task<StoreResult<OpenedObject>> compare(Question& question, bool& is_current);
  Task<Outcome> ask_for_folder(std::string key, std::int64_t now_ms);
  // Decides about a whole object that is not kept in memory.
  Task<Lookup> keep_large(Question question, OpenedObject answer,
                          std::optional<OpenedObject>& opened);
  // Returns null if the object is not to be kept. Throws std::invalid_argument for fields that
  // can't be sent.
  Task<StoreResult<FileRef>> take(const std::string& key, OpenedObject& opened);
  FileRef make_file(std::string_view key, const ObjectInfo& info,
                    std::unique_ptr<const file::Content> content,
                    std::unique_ptr<FileExtension> extension) const;
  // Keeps a file of the disk. Returns what to use.
  Lookup keep_on_disk(const std::string& key, FileRef file, std::int64_t now_ms);
  [[nodiscard]] bool is_on_disk(const std::string& key) const {
    return disk_.cache != nullptr && disk_.cache->has(disk_.name_of(key));
  }
  // These await the disk.
  Task<FileRef> open_on_disk(std::string key);
  Task<void> note_use(std::string key);
  Task<void> remove_from_disk(std::string key);

  const std::shared_ptr<Store> store_;
  const http::MediaTypesRef types_;
  const ObjectCacheLimits limits_;
  const file::Folder folder_;
  CopyBudget& budget_;
  const DiskPlace disk_;
  std::mutex mutex_;
  Asking asking_{mutex_};
};

}  // namespace h2server::content
