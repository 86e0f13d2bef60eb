// Write locks of an upload directory (RFC 4918, 6 and 7), in memory: they end with the process, and
// processes do not share them.
//
// Knows paths only, as path_below() makes them, and not whether files exist. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::content {

struct LockLimits {
  static constexpr std::size_t locks_max = 4096;            // of a directory, about 1 KiB each
  static constexpr std::size_t client_max = locks_max / 4;  // of one client
  static constexpr std::size_t covering_max = 64;  // on a path, shared; a PROPFIND lists them all
  static constexpr std::size_t owner_bytes_max = 2048;  // of the XML that names the owner
  static constexpr std::uint32_t seconds_max = 3600;    // a client that left must not lock for long
};

struct Lock {
  std::string token = {};  // a URI; made by add()
  std::string path = {};   // of the lock's root
  bool shared = false;
  bool deep = false;                                // Depth: infinity
  std::string owner = {};                           // XML that the client gave
  std::string user = {};                            // who authenticated; empty: nobody
  std::string client = {};                          // its network; empty: unknown
  std::uint32_t seconds = LockLimits::seconds_max;  // its timeout
  std::int64_t end_ms = 0;                          // by base::monotonic_ms()
};

// Who asks, and with which tokens. By default one who names no lock.
struct Holder {
  std::span<const std::string> tokens = {};
  std::string_view user = {};
};

// What a request changes, for its check against locks.
struct Change {
  std::string path;
  bool deep = false;        // also what is below it
  bool membership = false;  // a name is added to its folder or removed from it
};

class LockTable {
 public:
  // Why there is no lock.
  struct Conflict {
    bool full = false;      // there are too many locks
    std::string path = {};  // of the lock in the way
  };

  // Locks `wanted.path`, and what is below it if it is deep.
  Result<Lock, Conflict> add(Lock wanted, std::int64_t now_ms);
  // Sets a new timeout for the lock with that token, if it covers `path` and is the holder's.
  std::optional<Lock> refresh(std::string_view path, const Holder& holder, std::uint32_t seconds,
                              std::int64_t now_ms);
  enum class Removal : std::uint8_t { done, not_found, not_yours };
  Removal remove(std::string_view path, std::string_view token, std::string_view user,
                 std::int64_t now_ms);

  // Returns the locks on the path, also those on folders above that are deep.
  [[nodiscard]] std::vector<Lock> covering(std::string_view path, std::int64_t now_ms) const;
  // Returns the root of a lock that keeps the holder from the change. Of several shared locks the
  // holder needs one.
  [[nodiscard]] std::optional<std::string> obstacle(const Change& change, const Holder& holder,
                                                    std::int64_t now_ms) const;
  // True: nothing is locked.
  [[nodiscard]] bool empty() const;
  // Forgets the locks on the path and below it: what they locked is gone.
  void forget(std::string_view path);

 private:
  using Locks = std::map<std::string, std::vector<Lock>, std::less<>>;

  void drop_expired(std::int64_t now_ms);
  [[nodiscard]] std::size_t count_of(std::string_view client) const;
  [[nodiscard]] std::vector<const Lock*> find_covering(std::string_view path,
                                                       std::int64_t now_ms) const;
  [[nodiscard]] std::optional<std::string> find_covering_of_others(std::string_view path,
                                                                   const Holder& holder,
                                                                   std::int64_t now_ms) const;
  [[nodiscard]] std::optional<std::string> find_below_of_others(std::string_view path,
                                                                const Holder& holder,
                                                                std::int64_t now_ms) const;

  mutable std::mutex mutex_;
  Locks locks_;  // by path
  std::size_t count_ = 0;
};

}  // namespace h2server::content
