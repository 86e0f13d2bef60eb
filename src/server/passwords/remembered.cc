#include "server/passwords/remembered.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/out_of_memory.h"
#include "h2server/authorization.h"

namespace h2server::server {

namespace {

std::string_view text_of(const RememberedDigests::Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

RememberedDigests::RememberedDigests(std::size_t digests_max, std::int64_t lifetime_ns)
    : lifetime_ns_(lifetime_ns),
      group_count_((digests_max + group_size - 1) / group_size),
      groups_(static_cast<Group*>(std::calloc(group_count_, sizeof(Group)))) {
  if (groups_ == nullptr) base::out_of_memory();
}

std::size_t RememberedDigests::index_of(const Digest& digest) const noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number % group_count_;
}

RememberedDigests::Entry* RememberedDigests::find(Group& group, const Digest& digest,
                                                  std::int64_t now_ns) noexcept {
  for (Entry& entry : group) {
    const bool same = equal_in_constant_time(text_of(entry.digest), text_of(digest));
    if (same && entry.ends_at_ns > now_ns) return &entry;
  }
  return nullptr;
}

bool RememberedDigests::knows(const Digest& digest, std::int64_t now_ns) noexcept {
  const std::size_t index = index_of(digest);
  const std::lock_guard lock(mutex_of(index));
  return find(groups_[index], digest, now_ns) != nullptr;
}

bool RememberedDigests::renew(const Digest& digest, std::int64_t now_ns) noexcept {
  const std::size_t index = index_of(digest);
  const std::lock_guard lock(mutex_of(index));
  Entry* const entry = find(groups_[index], digest, now_ns);
  if (entry != nullptr) entry->ends_at_ns = now_ns + lifetime_ns_;
  return entry != nullptr;
}

void RememberedDigests::remember(const Digest& digest, std::int64_t now_ns) noexcept {
  const std::size_t index = index_of(digest);
  const std::lock_guard lock(mutex_of(index));
  Entry* entry = find(groups_[index], digest, now_ns);
  if (entry == nullptr) {
    entry = &*std::ranges::min_element(groups_[index], {}, &Entry::ends_at_ns);
  }
  *entry = {.digest = digest, .ends_at_ns = now_ns + lifetime_ns_};
}

}  // namespace h2server::server
