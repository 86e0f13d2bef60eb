#include "content/uploads/area/lock_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "content/storage/upload_path.h"

namespace h2server::content {

namespace {

// RFC 9562, 5.4: 122 random bits, so that nobody guesses a token (RFC 4918, 20.7).
std::string make_token() {
  const std::uint64_t high = (base::random_number() & ~std::uint64_t{0xf000}) | 0x4000;
  const std::uint64_t low = (base::random_number() & ~(std::uint64_t{3} << 62)) | std::uint64_t{1}
                                                                                      << 63;
  return fmt::format("urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32,
                     high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffff'ffff'ffff);
}

bool holds(const Holder& holder, const Lock& lock) {
  return lock.user == holder.user &&
         std::ranges::find(holder.tokens, lock.token) != holder.tokens.end();
}

// Calls `each` with the entries of `map` whose path lies below `path`, until it returns true.
// Returns true if it did.
template <class Map, class Each>
bool any_below(Map& map, std::string_view path, Each each) {
  const std::string prefix = path.empty() ? std::string() : std::string(path) + '/';
  for (auto at = map.lower_bound(prefix); at != map.end(); ++at) {
    if (!at->first.starts_with(prefix)) return false;
    if (at->first != path && each(at->second)) return true;
  }
  return false;
}

}  // namespace

void LockTable::drop_expired(std::int64_t now_ms) {
  for (auto& [path, locks] : locks_) {
    count_ -= std::erase_if(locks, [now_ms](const Lock& lock) { return lock.end_ms <= now_ms; });
  }
  std::erase_if(locks_, [](const auto& entry) { return entry.second.empty(); });
}

std::size_t LockTable::count_of(std::string_view client) const {
  std::size_t count = 0;
  for (const auto& [path, locks] : locks_) {
    count += static_cast<std::size_t>(std::ranges::count(locks, client, &Lock::client));
  }
  return count;
}

std::vector<const Lock*> LockTable::find_covering(std::string_view path,
                                                  std::int64_t now_ms) const {
  std::vector<const Lock*> found;
  const auto collect = [&](std::string_view place, bool deep_only) {
    const auto at = locks_.find(place);
    if (at == locks_.end()) return;
    for (const Lock& lock : at->second) {
      if (lock.end_ms > now_ms && (lock.deep || !deep_only)) found.push_back(&lock);
    }
  };
  collect(path, false);
  while (!path.empty()) {
    path = folder_of(path);
    collect(path, true);
  }
  return found;
}

Result<Lock, LockTable::Conflict> LockTable::add(Lock wanted, std::int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  drop_expired(now_ms);
  const bool has_share = wanted.client.empty() || count_of(wanted.client) < LockLimits::client_max;
  if (count_ >= LockLimits::locks_max || !has_share) {
    return std::unexpected(Conflict{.full = true});
  }
  const auto excludes = [&](const Lock& other) { return !wanted.shared || !other.shared; };
  const std::vector<const Lock*> covering = find_covering(wanted.path, now_ms);
  if (covering.size() >= LockLimits::covering_max) return std::unexpected(Conflict{.full = true});
  for (const Lock* const lock : covering) {
    if (excludes(*lock)) return std::unexpected(Conflict{.path = lock->path});
  }
  std::string obstacle;
  const auto conflicts = [&](const std::vector<Lock>& locks) {
    const auto found = std::ranges::find_if(locks, excludes);
    if (found == locks.end()) return false;
    obstacle = found->path;
    return true;
  };
  if (wanted.deep && any_below(locks_, wanted.path, conflicts)) {
    return std::unexpected(Conflict{.path = std::move(obstacle)});
  }
  wanted.token = make_token();
  wanted.end_ms = now_ms + std::int64_t{wanted.seconds} * 1000;
  locks_[wanted.path].push_back(wanted);
  ++count_;
  return wanted;
}

std::optional<Lock> LockTable::refresh(std::string_view path, const Holder& holder,
                                       std::uint32_t seconds, std::int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  for (const Lock* const lock : find_covering(path, now_ms)) {
    if (!holds(holder, *lock)) continue;
    for (Lock& own : locks_.find(lock->path)->second) {
      if (own.token != lock->token) continue;
      own.seconds = seconds;
      own.end_ms = now_ms + std::int64_t{seconds} * 1000;
      return own;
    }
  }
  return std::nullopt;
}

LockTable::Removal LockTable::remove(std::string_view path, std::string_view token,
                                     std::string_view user, std::int64_t now_ms) {
  const std::lock_guard guard(mutex_);
  for (const Lock* const lock : find_covering(path, now_ms)) {
    if (lock->token != token) continue;
    if (lock->user != user) return Removal::not_yours;
    const auto at = locks_.find(lock->path);
    count_ -= std::erase_if(at->second, [token](const Lock& own) { return own.token == token; });
    if (at->second.empty()) locks_.erase(at);
    return Removal::done;
  }
  return Removal::not_found;
}

std::vector<Lock> LockTable::covering(std::string_view path, std::int64_t now_ms) const {
  const std::lock_guard guard(mutex_);
  std::vector<Lock> copies;
  if (count_ == 0) return copies;
  for (const Lock* const lock : find_covering(path, now_ms)) copies.push_back(*lock);
  return copies;
}

std::optional<std::string> LockTable::find_covering_of_others(std::string_view path,
                                                              const Holder& holder,
                                                              std::int64_t now_ms) const {
  const std::vector<const Lock*> covering = find_covering(path, now_ms);
  const auto is_held = [&](const Lock* lock) { return holds(holder, *lock); };
  if (covering.empty() || std::ranges::any_of(covering, is_held)) return std::nullopt;
  return covering.front()->path;
}

std::optional<std::string> LockTable::find_below_of_others(std::string_view path,
                                                           const Holder& holder,
                                                           std::int64_t now_ms) const {
  std::optional<std::string> found;
  any_below(locks_, path, [&](const std::vector<Lock>& locks) {
    const bool locked =
        std::ranges::any_of(locks, [&](auto& lock) { return lock.end_ms > now_ms; });
    if (!locked || std::ranges::any_of(locks, [&](auto& lock) { return holds(holder, lock); })) {
      return false;
    }
    found = locks.front().path;
    return true;
  });
  return found;
}

std::optional<std::string> LockTable::obstacle(const Change& change, const Holder& holder,
                                               std::int64_t now_ms) const {
  const std::lock_guard guard(mutex_);
  if (count_ == 0) return std::nullopt;
  std::optional<std::string> found = find_covering_of_others(change.path, holder, now_ms);
  if (!found && change.deep) found = find_below_of_others(change.path, holder, now_ms);
  // RFC 4918, 7.4: a lock on a folder protects its names.
  if (!found && change.membership && !change.path.empty()) {
    found = find_covering_of_others(folder_of(change.path), holder, now_ms);
  }
  return found;
}

bool LockTable::empty() const {
  const std::lock_guard guard(mutex_);
  return count_ == 0;
}

void LockTable::forget(std::string_view path) {
  const std::lock_guard guard(mutex_);
  if (count_ == 0) return;
  const auto drop = [this](std::vector<Lock>& locks) {
    count_ -= locks.size();
    locks.clear();
    return false;
  };
  if (const auto at = locks_.find(path); at != locks_.end()) drop(at->second);
  any_below(locks_, path, drop);
  std::erase_if(locks_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace h2server::content
