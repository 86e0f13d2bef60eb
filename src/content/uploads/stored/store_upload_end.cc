// StoreUpload: how it ends, as a file or by removal.

#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "content/storage/upload_refusals.h"
#include "content/store/store_objects.h"
#include "content/store/store_refusals.h"
#include "content/uploads/stored/store_upload.h"
#include "content/uploads/stored/store_upload_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

}  // namespace

PutOptions StoreUpload::written_as_file() const {
  PutOptions options;
  options.content_type = place_->types->of(state_.description.name);
  options.time_max = StoreLease::reserve;
  return options;
}

Task<Result<StoredFile, Response>> StoreUpload::store(std::optional<std::string> name,
                                                      bool overwrite) {
  Task<Result<StoredFile, Response>> work = finish(std::move(name), overwrite);
  work.stop_by(unstopped_);
  Result<StoredFile, Response> stored = co_await work;
  co_return stored;
}

Task<Result<StoredFile, Response>> StoreUpload::finish(std::optional<std::string> name,
                                                       bool overwrite) {
  ASSERT(whole() && !removed_);
  PendingDescription& description = state_.description;
  if (name && *name != description.name && !state_.parts.id.empty()) {
    co_return std::unexpected(
        refuse_upload(409, "its parts have the name that the upload was created with"));
  }
  if (name) description.name = *std::move(name);
  Result<void, Response> ready = co_await check_digest();
  if (ready) ready = co_await keep_lease();
  if (!ready) co_return std::unexpected(std::move(ready.error()));
  const std::string key = description.name;
  bool replaced = false;
  if (overwrite) {
    const StoreResult<ObjectInfo> old = co_await place_->store->head(key, GetOptions());
    replaced = old.has_value();
  }
  Task<StoreResult<ObjectInfo>> put =
      state_.parts.id.empty() ? put_whole(key, overwrite) : put_parts(overwrite);
  StoreResult<ObjectInfo> made = co_await put;
  if (!made && made.error().kind == Kind::precondition) {
    co_return std::unexpected(refuse_upload_error(EEXIST, description.name));
  }
  if (!made) co_return std::unexpected(refuse_store_error(made.error()));
  co_await remember_stored();
  co_return StoredFile{.name = description.name,
                       .size = offset_,
                       .sha256 = description.sha256,
                       .etag = std::move(made->etag),
                       .replaced = replaced};
}

Task<Result<void, Response>> StoreUpload::check_digest() {
  PendingDescription& description = state_.description;
  if (digest_) description.sha256 = hex_digits(digest_->finish(buffer_));
  const bool declared = !description.declared_sha256.empty();
  if (!declared || description.sha256 == description.declared_sha256) {
    co_return Result<void, Response>();
  }
  // The tail that had its state was not found. It may be another time.
  if (!digest_) {
    co_return std::unexpected(refuse_store_error(StoreError{.kind = Kind::busy}));
  }
  Result<void, Response> removed = co_await remove_all();
  if (!removed) co_return removed;
  co_return std::unexpected(
      refuse_upload(400, "the content does not match its digest; the upload was removed"));
}

// --- the file -----------------------------------------------------------------------------------

// A file below one part.
Task<StoreResult<ObjectInfo>> StoreUpload::put_whole(std::string key, bool overwrite) {
  PutOptions options = written_as_file();
  options.must_be_new = !overwrite;
  StoreResult<ObjectInfo> put = co_await place_->store->put(key, buffer_, std::move(options));
  may_be_stored_ = !put && may_be_done(put.error());
  if (put || put.error().kind != Kind::precondition) co_return put;
  // Was it this upload's put, whose answer was lost?
  StoreResult<SmallObject> there =
      co_await read_small_object(*place_->store, std::move(key), place_->sizes.part_bytes);
  if (!there || there->bytes != buffer_) co_return put;
  co_return std::move(there->info);
}

Task<StoreResult<ObjectInfo>> StoreUpload::put_parts(bool overwrite) {
  if (!buffer_.empty()) {
    StoreResult<StoredPart> last =
        co_await place_->store->put_part(state_.parts, next_part_, buffer_);
    if (!last) co_return std::unexpected(or_busy(std::move(last.error())));
    parts_[next_part_] = *std::move(last);
  }
  // From here on, parts that are absent may have become the file.
  state_.finishing_s = base::unix_seconds();
  Result<void, Response> written = co_await write_state();
  if (!written) co_return std::unexpected(StoreError{.kind = Kind::busy});
  std::vector<StoredPart> all;
  for (const auto& [number, part] : parts_) all.push_back(part);
  PutOptions options = written_as_file();
  options.must_be_new = !overwrite;
  StoreResult<ObjectInfo> made =
      co_await place_->store->complete_parts(state_.parts, std::move(all), std::move(options));
  if (made) co_return made;
  may_be_stored_ = may_be_done(made.error());
  co_return std::unexpected(or_busy(std::move(made.error())));
}

// What fails here is found out later, by Store::find_completed().
Task<void> StoreUpload::remember_stored() {
  state_.stored = true;
  state_.parts = {};
  place_->pending->end(id_);
  Result<void, Response> written = co_await write_state();
  if (!written) co_return;
  const StoreResult<void> removed =
      co_await remove_upload_objects(*place_->store, id_, Keep::state);
  if (!removed)
    base::log_warning("can't remove what is left of the stored upload {}: {}", id_,
                      removed.error().reason);
}

// --- removal ------------------------------------------------------------------------------------

Task<Result<void, Response>> StoreUpload::remove() {
  Task<Result<void, Response>> work = remove_all();
  work.stop_by(unstopped_);
  Result<void, Response> removed = co_await work;
  co_return removed;
}

Task<Result<void, Response>> StoreUpload::remove_all() {
  if (removed_) co_return Result<void, Response>();
  co_await sending_.join();
  Result<void, Response> held = co_await keep_lease();
  if (!held) co_return held;
  const StoreResult<void> done = co_await remove_upload(*place_->store, id_, state_.parts);
  if (!done) co_return std::unexpected(refuse_store_error(done.error()));
  removed_ = true;
  place_->pending->end(id_);
  co_return Result<void, Response>();
}

}  // namespace h2server::content
