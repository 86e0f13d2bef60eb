#include "content/files/store_listings.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "base/memory/memory_budget.h"

namespace h2server::content {

Task<StoreResult<FolderEntriesRef>> StoreListings::find(std::string prefix) {
  for (;;) {
    Reading::Part part;
    {
      const std::lock_guard lock(mutex_);
      const std::int64_t now_ms = base::monotonic_ms();
      const auto kept = kept_.find(prefix);
      const bool fresh = kept != kept_.end() && now_ms - kept->second.read_ms < limits_.fresh_ms;
      if (fresh) co_return kept->second.entries;
      if (reading_.in_flight(prefix, now_ms)) reading_.wait(prefix, part);
      else reading_.begin(prefix, now_ms, part);
    }
    if (part.turn) {
      Listed listed = co_await read(prefix);
      keep(prefix, listed);
      const bool given_up = !listed && listed.error().kind == StoreError::Kind::stopped;
      if (!given_up) part.turn->outcome = listed;
      co_return listed;
    }
    Result<Listed> ended = co_await *part.others;
    if (ended) co_return *std::move(ended);
    // EPIPE: the other request was given up, not this one.
    if (ended.error().code != EPIPE) {
      co_return std::unexpected(StoreError{.kind = StoreError::Kind::stopped});
    }
  }
}

void StoreListings::keep(const std::string& prefix, const Listed& listed) {
  const std::int64_t now_ms = base::monotonic_ms();
  const std::size_t bytes = listed ? (*listed)->memory() : 0;
  const std::lock_guard lock(mutex_);
  if (const auto before = kept_.find(prefix); before != kept_.end()) drop(before);
  if (listed) {
    (*listed)->count(false);
    kept_.emplace(prefix, Kept{.entries = *listed, .bytes = bytes, .read_ms = now_ms});
  }
  make_room(now_ms);
}

// Those who still send them hold them.
StoreListings::KeptMap::iterator StoreListings::drop(KeptMap::iterator kept) {
  if (kept->second.entries.use_count() > 1) kept->second.entries->count(true);
  return kept_.erase(kept);
}

void StoreListings::make_room(std::int64_t now_ms) {
  const std::uint64_t most =
      base::MemoryBudget::of_process().at_most(limits_.bytes_max, StoreListingsLimits::parts);
  std::size_t bytes = 0;
  for (auto one = kept_.begin(); one != kept_.end();) {
    const bool old = now_ms - one->second.read_ms >= limits_.fresh_ms;
    bytes += old ? 0 : one->second.bytes;
    one = old ? drop(one) : std::next(one);
  }
  for (auto one = kept_.begin(); kept_.size() > limits_.folders_max || bytes > most;) {
    bytes -= one->second.bytes;
    one = drop(one);
  }
}

void StoreListings::add(const ListPage& page, FolderEntries& entries) const {
  const auto is_shown = [this](const std::string& name) {
    return hidden_ ? name != own_name : !name.starts_with('.');
  };
  for (const std::string& name : page.folders) {
    if (!is_shown(name)) continue;
    entries.entries.push_back(
        {.name = name, .modified_s = FolderEntry::time_unknown, .is_folder = true});
    ++entries.folders;
  }
  for (const ListedObject& object : page.objects) {
    if (!is_shown(object.name)) continue;
    const std::int64_t modified_s =
        object.modified_s > 0 ? object.modified_s : FolderEntry::time_unknown;
    entries.entries.push_back({.name = object.name, .size = object.size, .modified_s = modified_s});
    entries.bytes += object.size;
  }
}

Task<StoreResult<FolderEntriesRef>> StoreListings::read(std::string prefix) const {
  auto entries = std::make_shared<FolderEntries>();
  ListOptions options{.prefix = std::move(prefix)};
  bool any = false;
  for (std::size_t pages = 0; pages < limits_.pages_max; ++pages) {
    StoreResult<ListPage> page = co_await store_->list(options);
    if (!page) co_return std::unexpected(std::move(page.error()));
    any |= !page->objects.empty() || !page->folders.empty() || !page->next.empty();
    add(*page, *entries);
    options.after = std::move(page->next);
    if (options.after.empty()) break;
  }
  if (!any) co_return std::unexpected(StoreError{.kind = StoreError::Kind::absent});
  entries->incomplete = !options.after.empty();
  std::ranges::sort(entries->entries, [](const FolderEntry& a, const FolderEntry& b) {
    return a.is_folder != b.is_folder ? a.is_folder : name_before(a.name, b.name);
  });
  entries->count(true);
  co_return FolderEntriesRef(std::move(entries));
}

}  // namespace h2server::content
