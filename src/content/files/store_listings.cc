#include "content/files/store_listings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/memory/memory_budget.h"

namespace h2server::content {

// One request's turn to read a folder. Its end gives the result to those that wait.
class StoreListings::Reading {
 public:
  Reading(StoreListings& listings, std::string prefix)
      : listings_(listings), prefix_(std::move(prefix)) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    std::vector<Completer<Listed>> waiting;
    const std::int64_t now_ms = base::monotonic_ms();
    const std::size_t bytes = listed ? (*listed)->memory() : 0;
    {
      const std::lock_guard lock(listings_.mutex_);
      Kept& kept = listings_.kept_.find(prefix_)->second;
      kept.being_read = false;
      StoreListings::drop(kept);
      kept.entries = listed.value_or(nullptr);
      if (kept.entries != nullptr) kept.entries->count(false);
      kept.bytes = bytes;
      kept.read_ms = now_ms;
      waiting = std::exchange(kept.waiting, {});
      listings_.make_room(now_ms);
    }
    for (const Completer<Listed>& one : waiting) one(listed);
  }

  Listed listed = std::unexpected(StoreError{.kind = StoreError::Kind::stopped});

 private:
  StoreListings& listings_;
  const std::string prefix_;
};

Task<StoreResult<FolderEntriesRef>> StoreListings::find(std::string prefix) {
  for (;;) {
    std::optional<Completion<Listed>> read_by_another;
    {
      const std::lock_guard lock(mutex_);
      Kept& kept = kept_[prefix];
      const bool fresh = base::monotonic_ms() - kept.read_ms < limits_.fresh_ms;
      if (kept.entries != nullptr && fresh) co_return kept.entries;
      if (kept.being_read) kept.waiting.push_back(read_by_another.emplace().completer());
      kept.being_read = true;
    }
    if (!read_by_another) {
      Reading reading(*this, prefix);
      Listed listed = co_await read(prefix);
      reading.listed = listed;
      co_return listed;
    }
    Result<Listed> ended = co_await *read_by_another;
    if (!ended) co_return std::unexpected(StoreError{.kind = StoreError::Kind::stopped});
    // The other request was given up, not this one.
    const bool given_up = !*ended && ended->error().kind == StoreError::Kind::stopped;
    if (!given_up) co_return *std::move(ended);
  }
}

// Those who still send them hold them.
void StoreListings::drop(Kept& kept) {
  if (kept.entries != nullptr && kept.entries.use_count() > 1) kept.entries->count(true);
  kept.entries = nullptr;
}

void StoreListings::make_room(std::int64_t now_ms) {
  const std::uint64_t most =
      base::MemoryBudget::of_process().at_most(limits_.bytes_max, StoreListingsLimits::parts);
  for (auto one = kept_.begin(); one != kept_.end();) {
    Kept& kept = one->second;
    const bool old = kept.entries == nullptr || now_ms - kept.read_ms >= limits_.fresh_ms;
    if (kept.being_read || !old) {
      ++one;
      continue;
    }
    drop(kept);
    one = kept_.erase(one);
  }
  std::size_t bytes = 0;
  for (const auto& [prefix, kept] : kept_) bytes += kept.bytes;
  for (auto one = kept_.begin(); one != kept_.end();) {
    if (kept_.size() <= limits_.folders_max && bytes <= most) return;
    if (one->second.being_read) {
      ++one;
      continue;
    }
    bytes -= one->second.bytes;
    drop(one->second);
    one = kept_.erase(one);
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
