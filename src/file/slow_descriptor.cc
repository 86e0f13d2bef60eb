#include "file/slow_descriptor.h"

#include <fcntl.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace h2server::file {

namespace {

constinit std::mutex left_open_mutex;
constinit std::vector<base::Fd> all_left_open;  // under the mutex

void close_what_was_left() {
  std::vector<base::Fd> closed;
  const std::lock_guard lock(left_open_mutex);
  closed.swap(all_left_open);
}

}  // namespace

base::Fd reopen(int descriptor, int flags) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  return base::Fd(::open(path.c_str(), flags | O_CLOEXEC));
}

SlowDescriptor::~SlowDescriptor() {
  if (!descriptor_.valid()) return;
  const std::lock_guard lock(left_open_mutex);
  all_left_open.push_back(std::move(descriptor_));
}

int SlowDescriptor::open_once(int place) {
  if (!descriptor_.valid()) {
    close_what_was_left();
    descriptor_ = reopen(place, O_RDONLY);
  }
  return descriptor_.get();
}

void SlowDescriptor::close() {
  descriptor_.close();
  close_what_was_left();
}

std::size_t SlowDescriptor::left_open() noexcept {
  const std::lock_guard lock(left_open_mutex);
  return all_left_open.size();
}

}  // namespace h2server::file
