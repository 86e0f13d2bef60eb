#include "content/cache/disk_index.h"

#include <algorithm>
#include <utility>

namespace h2server::content {

namespace {

constexpr std::size_t key_digits = 32;
constexpr std::size_t version_digits = 16;
// The directory need not know the last use more exactly.
constexpr std::int64_t touch_s = 60;

bool are_digits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::optional<DiskNames> DiskNames::parse(std::string_view name) {
  if (name.size() != key_digits + 1 + version_digits || name[key_digits] != '-') {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(0, key_digits);
  const std::string_view version = name.substr(key_digits + 1);
  if (!are_digits(digits) || !are_digits(version)) return std::nullopt;
  return DiskNames{std::string(digits), std::string(version)};
}

// --- entries ------------------------------------------------------------------------------------

bool DiskIndex::has(const std::string& digits) const {
  const std::lock_guard lock(mutex_);
  return by_digits_.contains(digits);
}

std::optional<DiskIndex::Entry> DiskIndex::find(const std::string& digits) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_digits_.find(digits);
  return found == by_digits_.end() ? std::nullopt : std::optional(found->second->entry);
}

bool DiskIndex::note_use(const std::string& digits, std::int64_t now_s) {
  const std::lock_guard lock(mutex_);
  const auto found = by_digits_.find(digits);
  if (found == by_digits_.end()) return false;
  places_.splice(places_.begin(), places_, found->second);
  Entry& entry = found->second->entry;
  entry.used_s = std::max(entry.used_s, now_s);
  if (entry.used_s - entry.touched_s < touch_s) return false;
  entry.touched_s = entry.used_s;
  return true;
}

void DiskIndex::note_opened(const DiskNames& names, const std::string& name,
                            std::shared_ptr<DiskChecks> checks) {
  const std::lock_guard lock(mutex_);
  const auto found = by_digits_.find(names.digits);
  if (found == by_digits_.end() || found->second->entry.names != names) return;
  found->second->entry.name = name;
  found->second->entry.checks = std::move(checks);
}

DiskIndex::Removed DiskIndex::add(Entry entry) {
  Removed removed;
  const std::lock_guard lock(mutex_);
  const auto found = by_digits_.find(entry.names.digits);
  if (found != by_digits_.end()) {
    Entry before = take(found->second);
    if (before.names != entry.names) removed.push_back(std::move(before));
  }
  bytes_ += entry.bytes;
  const std::string digits = entry.names.digits;
  places_.push_front({std::move(entry), added_++});
  by_digits_[digits] = places_.begin();
  return removed;
}

DiskIndex::Removed DiskIndex::take(const std::string& digits) {
  Removed removed;
  const std::lock_guard lock(mutex_);
  const auto found = by_digits_.find(digits);
  if (found != by_digits_.end()) removed.push_back(take(found->second));
  return removed;
}

DiskIndex::Entry DiskIndex::take(Places::iterator place) {
  Entry entry = std::move(place->entry);
  bytes_ -= entry.bytes;
  by_digits_.erase(entry.names.digits);
  places_.erase(place);
  return entry;
}

DiskIndex::Size DiskIndex::size() const {
  const std::lock_guard lock(mutex_);
  return {.objects = places_.size(), .bytes = bytes_};
}

// --- room ---------------------------------------------------------------------------------------

bool DiskIndex::claim(const std::string& digits, std::uint64_t bytes, std::size_t fills_max) {
  const std::lock_guard lock(mutex_);
  if (claims_.size() >= fills_max || claims_.contains(digits)) return false;
  claims_[digits] = {.bytes = bytes};
  claimed_ += bytes;
  return true;
}

void DiskIndex::wrote(const std::string& digits, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  claims_[digits].written += bytes;
}

void DiskIndex::give_back(const std::string& digits) {
  const std::lock_guard lock(mutex_);
  claimed_ -= claims_[digits].bytes;
  claims_.erase(digits);
}

std::uint64_t DiskIndex::unwritten() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [digits, claim] : claims_) bytes += claim.bytes - claim.written;
  return bytes;
}

std::optional<DiskIndex::Removed> DiskIndex::make_room(std::uint64_t bytes_max,
                                                       std::uint64_t bytes_min) {
  Removed removed;
  const std::lock_guard lock(mutex_);
  if (claimed_ > bytes_max || bytes_min > bytes_) return std::nullopt;
  std::uint64_t taken = 0;
  while (!places_.empty() && (bytes_ + claimed_ > bytes_max || taken < bytes_min)) {
    removed.push_back(take(std::prev(places_.end())));
    taken += removed.back().bytes;
  }
  return removed;
}

// --- the directory ------------------------------------------------------------------------------

std::uint64_t DiskIndex::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

DiskIndex::Removed DiskIndex::merge(Found found, std::uint64_t mark) {
  Removed gone;
  const std::lock_guard lock(mutex_);
  for (auto place = places_.begin(); place != places_.end();) {
    const auto next = std::next(place);
    const auto present = found.find(place->entry.names.digits);
    if (present != found.end() && present->second.names == place->entry.names) {
      found.erase(present);
    } else if (place->since < mark) {
      gone.push_back(take(place));
    } else if (present != found.end()) {
      found.erase(present);
    }
    place = next;
  }
  for (auto& [digits, entry] : found) {
    bytes_ += entry.bytes;
    places_.push_back({std::move(entry), mark});
    by_digits_[digits] = std::prev(places_.end());
  }
  places_.sort([](const Place& one, const Place& other) {
    return one.entry.used_s > other.entry.used_s;  // stable, so the order within a second stays
  });
  return gone;
}

}  // namespace h2server::content
