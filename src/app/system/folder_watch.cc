#include "app/system/folder_watch.h"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "app/system/start_thread.h"

namespace h2server::app {

std::optional<FolderIdentity> identity_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return FolderIdentity{status.st_dev, status.st_ino};
}

WatchedFolders::WatchedFolders(std::vector<std::string> paths) {
  for (std::string& path : paths) {
    const std::optional<FolderIdentity> identity = identity_of(path);
    all_.push_back({std::move(path), identity});
  }
}

void WatchedFolders::take_made() {
  for (One& one : all_) {
    if (!one.identity) one.identity = identity_of(one.path);
  }
}

std::string WatchedFolders::find_replaced() {
  std::string replaced;
  for (One& one : all_) {
    const std::optional<FolderIdentity> now = identity_of(one.path);
    if (!now || now == one.identity) continue;
    one.identity = now;
    if (replaced.empty()) replaced = one.path;
  }
  return replaced;
}

FolderWatch::~FolderWatch() {
  if (!thread_.joinable()) return;
  bool looks = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stops = true;
    looks = shared_->looks;
  }
  shared_->stops_changed.notify_all();
  looks ? thread_.detach() : thread_.join();
}

Result<void, std::string> FolderWatch::start() {
  base::Fd replaced(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!replaced.valid()) return std::unexpected(std::string(std::strerror(errno)));
  shared_->replaced = std::move(replaced);
  Result<std::thread, std::string> started = start_thread([shared = shared_] { run(*shared); });
  if (!started) return std::unexpected(std::move(started.error()));
  thread_ = *std::move(started);
  return {};
}

void FolderWatch::watch(WatchedFolders folders) {
  const std::lock_guard lock(shared_->mutex);
  shared_->folders = std::move(folders);
  shared_->path.clear();
  ++shared_->number;
}

std::string FolderWatch::take_replaced() {
  eventfd_t ignored = 0;
  ::eventfd_read(shared_->replaced.get(), &ignored);
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->path, {});
}

// The lock is not held while the file system is asked, which may take its time.
void FolderWatch::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  const auto stops = [&shared] { return shared.stops; };
  while (!shared.stops_changed.wait_for(lock, std::chrono::seconds(1), stops)) {
    const std::uint64_t number = shared.number;
    WatchedFolders folders = std::move(shared.folders);
    shared.looks = true;
    lock.unlock();
    std::string replaced = folders.find_replaced();
    lock.lock();
    shared.looks = false;
    if (number != shared.number) continue;  // others are watched by now
    shared.folders = std::move(folders);
    if (replaced.empty()) continue;
    shared.path = std::move(replaced);
    ::eventfd_write(shared.replaced.get(), 1);
  }
}

}  // namespace h2server::app
