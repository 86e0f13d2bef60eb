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
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stops_changed_.notify_all();
  thread_.join();
}

Result<void, std::string> FolderWatch::start() {
  replaced_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!replaced_.valid()) return std::unexpected(std::string(std::strerror(errno)));
  Result<std::thread, std::string> started = start_thread([this] { run(); });
  if (!started) return std::unexpected(std::move(started.error()));
  thread_ = *std::move(started);
  return {};
}

void FolderWatch::watch(WatchedFolders folders) {
  const std::lock_guard lock(mutex_);
  folders_ = std::move(folders);
  path_.clear();
  ++number_;
}

std::string FolderWatch::take_replaced() {
  eventfd_t ignored = 0;
  ::eventfd_read(replaced_.get(), &ignored);
  const std::lock_guard lock(mutex_);
  return std::exchange(path_, {});
}

// The lock is not held while the file system is asked, which may take its time.
void FolderWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stops_changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stops_; })) {
    const std::uint64_t number = number_;
    WatchedFolders folders = folders_;
    lock.unlock();
    std::string replaced = folders.find_replaced();
    lock.lock();
    if (number != number_) continue;  // others are watched by now
    folders_ = std::move(folders);
    if (replaced.empty()) continue;
    path_ = std::move(replaced);
    ::eventfd_write(replaced_.get(), 1);
  }
}

}  // namespace h2server::app
