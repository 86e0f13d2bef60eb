#include "content/uploads/stored/store_upload_sweep.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "content/storage/pending_files.h"
#include "content/store/store_lease.h"
#include "content/store/store_objects.h"
#include "content/uploads/stored/store_upload_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::chrono::milliseconds removal_time{60'000};
constexpr std::size_t due_max = 100'000;  // ids that are remembered

}  // namespace

Task<StoreResult<void>> StoreUploadSweep::sweep() {
  ListOptions options{
      .prefix = std::string(store_uploads_prefix), .after = after_, .entries_max = looks_max};
  StoreResult<ListPage> page = co_await store_.list(std::move(options));
  if (!page) co_return std::unexpected(std::move(page.error()));
  after_ = page->next;
  if (due_s_.size() > due_max) due_s_.clear();
  for (const std::string& id : page->folders) {
    const auto due = due_s_.find(id);
    if (due != due_s_.end() && due->second > base::unix_seconds()) continue;
    StoreResult<void> looked = co_await look_at(id);
    if (looked) continue;
    if (looked.error().kind == Kind::stopped) co_return looked;
    base::log_warning("can't remove the expired upload {}: {}", id, looked.error().reason);
  }
  co_return StoreResult<void>();
}

Task<StoreResult<void>> StoreUploadSweep::look_at(std::string id) {
  StoreResult<std::vector<ListedObject>> objects =
      co_await list_objects(store_, store_upload_prefix(id));
  if (!objects) co_return std::unexpected(std::move(objects.error()));
  std::int64_t changed_s = 0;
  for (const ListedObject& object : *objects) changed_s = std::max(changed_s, object.modified_s);
  const std::int64_t due_s = changed_s + limits_.expire_s;
  if (due_s > base::unix_seconds()) {
    due_s_[id] = due_s;
    co_return StoreResult<void>();
  }
  due_s_.erase(id);
  StoreResult<void> removed = co_await remove_expired(std::move(id));
  co_return removed;
}

Task<StoreResult<void>> StoreUploadSweep::remove_expired(std::string id) {
  StoreLease lease(store_, lock_key(id), removal_time);
  StoreResult<void> done = co_await lease.take();
  if (!done) {
    if (done.error().kind == Kind::precondition) done = StoreResult<void>();  // it is sent again
    co_return done;
  }
  done = co_await remove_leased(std::move(id));
  co_await lease.give_back();
  co_return done;
}

// The list may have lacked what has changed last (see read_upload_progress), so the objects that
// are known by their keys are asked for, too.
Task<StoreResult<void>> StoreUploadSweep::remove_leased(std::string id) {
  StoreResult<FoundState> found = co_await read_upload_state(store_, id, true);
  if (!found && found.error().kind != Kind::absent) co_return std::unexpected(found.error());
  if (!found) {
    StoreResult<void> removed = co_await remove_stateless(std::move(id));
    co_return removed;
  }
  const StoreResult<UploadProgress> progress =
      co_await read_upload_progress(store_, id, *found, part_bytes_);
  if (!progress) co_return std::unexpected(progress.error());
  if (progress->changed_s + limits_.expire_s > base::unix_seconds()) {
    co_return StoreResult<void>();
  }
  PartsId parts;
  if (!found->state.stored) parts = std::move(found->state.parts);
  StoreResult<void> removed = co_await remove_upload(store_, std::move(id), std::move(parts));
  co_return removed;
}

// What a killed server has left of one that it began or removed.
Task<StoreResult<void>> StoreUploadSweep::remove_stateless(std::string id) {
  const StoreResult<ListedUpload> listed = co_await list_upload(store_, id);
  if (!listed) co_return std::unexpected(listed.error());
  if (listed->state) co_return StoreResult<void>();  // it is found another time
  StoreResult<void> removed = co_await remove_upload_objects(store_, std::move(id), Keep::state);
  co_return removed;
}

}  // namespace h2server::content
