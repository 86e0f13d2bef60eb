#include "base/memory/memory_budget.h"

#include <pthread.h>

#include <mutex>

namespace h2server::base {

constinit MemoryBudget MemoryBudget::of_process_;

namespace {

constexpr std::array<std::string_view, memory_owners> owner_names{
    "requests", "buffers", "receiving", "bodies", "listings", "coding", "archives", "uploads"};

constinit std::mutex watchers_mutex;
constinit MemoryWatcher* first_watcher = nullptr;

void lock_for_fork() noexcept { watchers_mutex.lock(); }
void unlock_after_fork() noexcept { watchers_mutex.unlock(); }

}  // namespace

// A child process must not inherit the lock from a thread that it does not have, nor wake engines
// of its parent, whose event descriptors it shares.
void MemoryBudget::reset_in_child() noexcept {
  first_watcher = nullptr;
  watchers_mutex.unlock();
}

std::string_view name_of(MemoryOwner owner) noexcept {
  return owner_names[static_cast<std::size_t>(owner)];
}

void MemoryBudget::set_limit(std::uint64_t bytes) noexcept {
  limit_.store(bytes, relaxed);
  tight_.store(bytes == no_limit ? no_limit : bytes / 2, relaxed);
  critical_.store(bytes == no_limit ? no_limit : bytes - bytes / 4, relaxed);
  check_marks(0, held());
}

void MemoryBudget::add(MemoryWatcher& watcher) noexcept {
  static const int registered =
      ::pthread_atfork(lock_for_fork, unlock_after_fork, reset_in_child);  // or ENOMEM
  static_cast<void>(registered);
  const std::lock_guard lock(watchers_mutex);
  watcher.next_ = first_watcher;
  first_watcher = &watcher;
}

void MemoryBudget::remove(MemoryWatcher& watcher) noexcept {
  const std::lock_guard lock(watchers_mutex);
  MemoryWatcher** place = &first_watcher;
  while (*place != nullptr && *place != &watcher) place = &(*place)->next_;
  if (*place != nullptr) *place = watcher.next_;
}

void MemoryBudget::check_marks(std::uint64_t before, std::uint64_t after) noexcept {
  const auto passes = [&](std::uint64_t mark) { return before < mark && after >= mark; };
  if (!passes(tight_.load(relaxed)) && !passes(critical_.load(relaxed))) return;
  short_.store(true, relaxed);
  wake_watchers();
}

void MemoryBudget::wake_watchers() noexcept {
  const std::lock_guard lock(watchers_mutex);
  for (MemoryWatcher* watcher = first_watcher; watcher != nullptr; watcher = watcher->next_) {
    watcher->memory_needs_care();
  }
}

bool MemoryBudget::end_shortage() noexcept {
  if (held() > limit() / 8 || !short_.exchange(false, relaxed)) return false;
  if (tight()) short_.store(true, relaxed);  // another thread has passed the mark meanwhile
  return true;
}

}  // namespace h2server::base
