// FolderWatch: a thread that looks once a second whether the configured folders are still the ones
// that are served. A link to a release is switched, a build removes its folder and makes it again,
// a disk is mounted: then the same path leads to another folder.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "h2server/result.h"

namespace h2server::app {

// What a path leads to.
struct FolderIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const FolderIdentity&) const = default;
};

// Returns nullopt if the path leads to no folder. May wait for a file system.
[[nodiscard]] std::optional<FolderIdentity> identity_of(const std::string& path);

// Folders, and what their paths led to before they were opened.
class WatchedFolders {
 public:
  WatchedFolders() = default;
  explicit WatchedFolders(std::vector<std::string> paths);

  // Looks at those that were not there: the server has made them since.
  void take_made();
  // Looks at all of them. Returns the path of one that leads to another folder than when this was
  // last asked; empty if there is none. One that leads to no folder may soon be there again.
  [[nodiscard]] std::string find_replaced();

 private:
  struct One {
    std::string path;
    std::optional<FolderIdentity> identity;
  };
  std::vector<One> all_;
};

// A file system that no longer responds may hold the thread. It is left behind then.
class FolderWatch {
 public:
  FolderWatch() = default;
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  ~FolderWatch();

  // The error is a part of a line for the operator. Once.
  Result<void, std::string> start();
  // Takes the place of what was watched.
  void watch(WatchedFolders folders);

  // Readable when a folder was replaced.
  [[nodiscard]] int descriptor() const noexcept { return shared_->replaced.get(); }
  // Returns the path of one that was replaced since the last call; empty if there is none.
  [[nodiscard]] std::string take_replaced();

 private:
  struct Shared {
    base::Fd replaced;  // an eventfd
    std::mutex mutex;   // for all below
    std::condition_variable stops_changed;
    bool stops = false;
    bool looks = false;        // at the file system
    std::uint64_t number = 0;  // of watch()
    WatchedFolders folders;
    std::string path;  // for take_replaced()
  };
  static void run(Shared& shared);

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

}  // namespace h2server::app
