#include "content/storage/names_in_flight.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

namespace h2server::content {

// The set excludes threads. Processes exclude each other by locks (fcntl) on bytes of a file that
// only they know, since the system releases those of a killed process. A lock's place is the hash
// of the path: two paths with one hash, of 2^62, can't be uploaded at once.
struct NameReservation::Shared {
  std::mutex mutex;
  std::set<std::string> paths;  // reserved by this process
  base::Fd locks{::memfd_create("h2server-names", MFD_CLOEXEC)};

  // Returns false if another process holds the lock. Without memory for locks (ENOLCK) or without
  // the file, processes do not exclude each other.
  bool set_lock(const std::string& path, short type) const {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(std::hash<std::string>{}(path) >> 2);
    lock.l_len = 1;
    return ::fcntl(locks.get(), F_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
  }
};

NameReservation& NameReservation::operator=(NameReservation&& other) noexcept {
  std::swap(shared_, other.shared_);
  std::swap(path_, other.path_);
  return *this;
}

NameReservation::~NameReservation() {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->paths.erase(path_);
  shared_->set_lock(path_, F_UNLCK);
}

NamesInFlight::NamesInFlight() : shared_(std::make_shared<NameReservation::Shared>()) {}

std::optional<NameReservation> NamesInFlight::reserve(std::string path) {
  {
    const std::lock_guard lock(shared_->mutex);
    const auto [place, added] = shared_->paths.insert(path);
    if (!added) return std::nullopt;
    if (!shared_->set_lock(path, F_WRLCK)) {
      shared_->paths.erase(place);
      return std::nullopt;
    }
  }
  return NameReservation(shared_, std::move(path));
}

}  // namespace h2server::content
