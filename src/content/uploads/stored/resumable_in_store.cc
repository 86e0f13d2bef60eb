#include "content/uploads/stored/resumable_in_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "content/names/object_key.h"
#include "content/storage/pending_files.h"
#include "content/storage/upload_refusals.h"
#include "content/store/store_objects.h"
#include "content/store/store_refusals.h"
#include "content/uploads/stored/store_upload_objects.h"
#include "content/uploads/stored/store_upload_sweep.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

std::unexpected<Response> refuse_read(const StoreError& error) {
  if (error.kind == Kind::absent) return refused_missing();
  return std::unexpected(refuse_store_error(error));
}

// Returns true if the call had no effect. It may have had one if its answer did not arrive.
bool is_refusal(const StoreError& error) noexcept {
  return error.kind == Kind::denied || error.kind == Kind::precondition;
}

PendingDescription describe(NewUpload upload, const std::string& id) {
  PendingDescription description;
  description.length = upload.length;
  description.name = std::move(upload.name);
  description.metadata = std::move(upload.metadata);
  description.concatenation = upload.concatenation;
  description.parts = std::move(upload.parts);
  description.created_s = base::unix_seconds();
  if (description.name.empty()) description.name = id;
  if (upload.sha256) description.declared_sha256 = hex_digits(*upload.sha256);
  return description;
}

class ResumableInStore final : public ResumableUploads {
 public:
  explicit ResumableInStore(StorePlaceRef place)
      : place_(std::move(place)),
        sweep_(*place_->store, place_->limits, place_->sizes.part_bytes) {}

  [[nodiscard]] const UploadOptions& options() const noexcept override { return place_->options; }
  [[nodiscard]] const PendingLimits& limits() const noexcept override { return place_->limits; }
  // Parts can't be read before they are a file.
  [[nodiscard]] bool concatenates() const noexcept override { return false; }

  Task<Result<std::unique_ptr<ResumableUpload>, Response>> create(NewUpload upload,
                                                                  bool overwrite) override;
  Task<Result<FoundUpload, Response>> find(std::string id) override;
  Task<Result<PendingStatus, Response>> status(std::string id) override;
  Task<Result<ConcatenatedUpload, Response>> concatenate(NewUpload upload,
                                                         std::vector<std::string> ids,
                                                         bool overwrite) override;
  Task<Result<void, Response>> forget(std::string id) override;
  Task<void> upkeep() override { return sweep_.run(); }

 private:
  struct Known {
    FoundState found;
    UploadProgress progress;
  };
  Task<Result<void, Response>> check_new(const NewUpload& upload, bool overwrite);
  Task<StoreResult<bool>> is_listed(std::string id);
  Task<bool> has_ended(std::string id);
  Task<std::unique_ptr<ClientPlaces::Place>> take_place(std::string client);
  Task<Response> refuse_unfound(std::string id);
  Task<Result<Known, Response>> look(std::string id);
  Task<Result<FoundUpload, Response>> open(std::string id);
  Task<Result<FoundUpload, Response>> load(std::string id, std::unique_ptr<StoreLease>& lease);
  [[nodiscard]] std::unique_ptr<StoreLease> make_lease(const std::string& id) const {
    return std::make_unique<StoreLease>(*place_->store, lock_key(id), place_->sizes.lease_time);
  }
  [[nodiscard]] PendingStatus status_of(Known known) const;

  const StorePlaceRef place_;
  StoreUploadSweep sweep_;
};

// --- new uploads --------------------------------------------------------------------------------

// Refuses a name before its content is sent in vain. The end decides.
Task<Result<void, Response>> ResumableInStore::check_new(const NewUpload& upload, bool overwrite) {
  const std::uint64_t most = place_->options.file_bytes_max;
  if (upload.length && *upload.length > most) {
    co_return refused(413, fmt::format("a file may have at most {} bytes", most));
  }
  if (!upload.name.empty() && !is_object_key(upload.name)) {
    co_return refused(400, "not a name that the store can hold");
  }
  if (upload.name.empty() || overwrite) co_return Result<void, Response>();
  const StoreResult<ObjectInfo> there = co_await place_->store->head(upload.name, GetOptions());
  if (there) co_return std::unexpected(refuse_upload_error(EEXIST, upload.name));
  if (there.error().kind != Kind::absent) {
    co_return std::unexpected(refuse_store_error(there.error()));
  }
  co_return Result<void, Response>();
}

// While a node of MinIO is away, it does not find all objects. An upload of which it lists anything
// is there.
Task<StoreResult<bool>> ResumableInStore::is_listed(std::string id) {
  const StoreResult<ListedUpload> listed = co_await list_upload(*place_->store, std::move(id));
  if (!listed) co_return std::unexpected(listed.error());
  co_return listed->state || listed->tails;
}

Task<bool> ResumableInStore::has_ended(std::string id) {
  const StoreResult<FoundState> found = co_await read_upload_state(*place_->store, id);
  if (found) co_return found->state.stored;
  if (found.error().kind != Kind::absent) co_return false;
  const StoreResult<bool> listed = co_await is_listed(std::move(id));
  co_return listed && !*listed;
}

// Null: the client has too many. Another replica, or an earlier request whose answer from the store
// was lost, may have ended some.
Task<std::unique_ptr<ClientPlaces::Place>> ResumableInStore::take_place(std::string client) {
  constexpr std::size_t looks_max = 4;
  PendingPlaces& pending = *place_->pending;
  std::unique_ptr<ClientPlaces::Place> place = pending.take(client);
  if (place != nullptr) co_return place;
  const std::vector<std::string> ids = pending.next_to_check(client, looks_max);
  for (const std::string& id : ids) {
    const bool ended = co_await has_ended(id);
    if (ended) pending.end(id);
  }
  co_return pending.take(client);
}

Task<Result<std::unique_ptr<ResumableUpload>, Response>> ResumableInStore::create(NewUpload upload,
                                                                                  bool overwrite) {
  co_await sweep_.run_if_due();
  Result<void, Response> allowed = co_await check_new(upload, overwrite);
  if (!allowed) co_return std::unexpected(std::move(allowed.error()));
  std::unique_ptr<ClientPlaces::Place> place = co_await take_place(upload.client);
  if (place == nullptr) co_return refused(503, "too many uploads of this client are pending");
  const std::string id = new_upload_id();
  StoredProgress progress;
  progress.state.description = describe(std::move(upload), id);
  std::unique_ptr<StoreLease> lease = make_lease(id);
  const StoreResult<void> taken = co_await lease->take();
  if (!taken) co_return std::unexpected(refuse_store_error(taken.error()));
  PutOptions once;
  once.must_be_new = true;
  StoreResult<ObjectInfo> written =
      co_await place_->store->put(state_key(id), to_text(progress.state), std::move(once));
  if (!written) {
    if (!is_refusal(written.error())) place_->pending->keep(id, std::move(place));
    co_await lease->give_back();
    co_return std::unexpected(refuse_store_error(written.error()));
  }
  place_->pending->keep(id, std::move(place));
  progress.state_etag = std::move(written->etag);
  co_return std::make_unique<StoreUpload>(place_, id, std::move(lease), std::move(progress));
}

// --- known uploads ------------------------------------------------------------------------------

// To clients, 404 is the end of an upload, so they get 503 as long as the store lists it.
Task<Response> ResumableInStore::refuse_unfound(std::string id) {
  const StoreResult<bool> listed = co_await is_listed(std::move(id));
  if (!listed) co_return refuse_store_error(listed.error());
  if (*listed) co_return refuse_store_error(StoreError{.kind = Kind::busy});
  co_return refused_missing().error();
}

Task<Result<ResumableInStore::Known, Response>> ResumableInStore::look(std::string id) {
  if (!is_upload_id(id)) co_return refused_missing();
  StoreResult<FoundState> found = co_await read_upload_state(*place_->store, id);
  if (!found && found.error().kind == Kind::absent) {
    Response response = co_await refuse_unfound(std::move(id));
    co_return std::unexpected(std::move(response));
  }
  if (!found) co_return refuse_read(found.error());
  StoreResult<UploadProgress> progress =
      co_await read_upload_progress(*place_->store, id, *found, place_->sizes.part_bytes);
  if (!progress) co_return refuse_read(progress.error());
  const std::int64_t changed_s = std::max(progress->changed_s, progress->locked_s);
  if (base::unix_seconds() - changed_s >= place_->limits.expire_s) {
    co_return refused(410, "the upload has expired");
  }
  UploadState& state = found->state;
  if (progress->parts_gone && state.finishing_s != 0) {
    const StoreResult<ObjectInfo> file = co_await place_->store->find_completed(state.parts);
    if (!file && file.error().kind != Kind::absent) co_return refuse_read(file.error());
    state.stored = file.has_value();
  }
  if (progress->hidden && !state.stored) {
    co_return std::unexpected(refuse_store_error(StoreError{.kind = Kind::busy}));
  }
  if (progress->parts_gone && !state.stored) state.parts = {};
  co_return Known{.found = *std::move(found), .progress = *std::move(progress)};
}

PendingStatus ResumableInStore::status_of(Known known) const {
  PendingStatus status{.description = std::move(known.found.state.description)};
  status.stored = known.found.state.stored;
  status.changed_s = std::max(known.progress.changed_s, known.progress.locked_s);
  status.expires_s = status.changed_s + place_->limits.expire_s;
  status.offset = status.stored ? status.description.length.value_or(0) : known.progress.offset();
  return status;
}

Task<Result<PendingStatus, Response>> ResumableInStore::status(std::string id) {
  co_await sweep_.run_if_due();
  Result<Known, Response> known = co_await look(std::move(id));
  if (!known) co_return std::unexpected(std::move(known.error()));
  co_return status_of(*std::move(known));
}

Task<Result<FoundUpload, Response>> ResumableInStore::find(std::string id) {
  co_await sweep_.run_if_due();
  Result<Known, Response> known = co_await look(id);
  if (!known) co_return std::unexpected(std::move(known.error()));
  if (known->found.state.stored) co_return FoundUpload{.stored = status_of(*std::move(known))};
  Result<FoundUpload, Response> opened = co_await open(std::move(id));
  co_return opened;
}

Task<Result<FoundUpload, Response>> ResumableInStore::open(std::string id) {
  std::unique_ptr<StoreLease> lease = make_lease(id);
  const StoreResult<void> taken = co_await lease->take();
  if (!taken && taken.error().kind == Kind::precondition) {
    co_return refused(423, "another request sends this upload");
  }
  if (!taken) co_return std::unexpected(refuse_store_error(taken.error()));
  Result<FoundUpload, Response> loaded = co_await load(std::move(id), lease);
  if (lease == nullptr) co_return loaded;
  coro::StopState unstopped;  // a client that has left must not hold up the next request
  Task<void> giving = lease->give_back();
  giving.stop_by(unstopped);
  co_await giving;
  co_return loaded;
}

// What the upload is now that nobody changes it. Takes the lease of an upload that is open.
Task<Result<FoundUpload, Response>> ResumableInStore::load(std::string id,
                                                           std::unique_ptr<StoreLease>& lease) {
  Result<Known, Response> known = co_await look(id);
  if (!known) co_return std::unexpected(std::move(known.error()));
  if (known->found.state.stored) co_return FoundUpload{.stored = status_of(*std::move(known))};
  StoredProgress progress{.state = std::move(known->found.state),
                          .state_etag = std::move(known->found.etag)};
  if (known->progress.tail_bytes > place_->sizes.unbudgeted_bytes) {
    progress.tail_share = co_await share(*place_->budget, place_->sizes.part_bytes,
                                         place_->pending->client_of(id), place_->sizes.budget_wait);
    if (!progress.tail_share) {
      co_return std::unexpected(refuse_store_error(StoreError{.kind = Kind::busy}));
    }
  }
  if (known->progress.has_tail) {
    StoreResult<FoundTail> tail = co_await read_upload_tail(*place_->store, id, known->progress);
    if (!tail) co_return std::unexpected(refuse_store_error(tail.error()));
    progress.tail = std::move(tail->tail);
    progress.tail_etag = std::move(tail->etag);
  }
  progress.parts = std::move(known->progress.parts);
  FoundUpload found;
  found.open =
      std::make_unique<StoreUpload>(place_, std::move(id), std::move(lease), std::move(progress));
  co_return found;
}

Task<Result<ConcatenatedUpload, Response>> ResumableInStore::concatenate(NewUpload,
                                                                         std::vector<std::string>,
                                                                         bool) {
  co_return refused(501, "uploads in this store can't be concatenated");
}

Task<Result<void, Response>> ResumableInStore::forget(std::string id) {
  const StoreResult<void> removed = co_await remove_upload(*place_->store, id, PartsId());
  if (!removed) co_return std::unexpected(refuse_store_error(removed.error()));
  place_->pending->end(id);
  co_return Result<void, Response>();
}

}  // namespace

std::shared_ptr<PendingPlaces> pending_places_of(const std::string& place) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<PendingPlaces>> all;
  const std::lock_guard lock(mutex);
  std::shared_ptr<PendingPlaces>& found = all[place];
  constexpr PendingLimits limits;
  if (found == nullptr) {
    found = std::make_shared<PendingPlaces>(limits.uploads_max, limits.client_uploads_max);
  }
  return found;
}

std::shared_ptr<ResumableUploads> resumable_in_store(std::shared_ptr<Store> store,
                                                     ResumableStoreOptions options) {
  // So that both protocols state the limit, and an upload beyond it does not begin.
  const std::uint64_t most = options.sizes.file_bytes_max();
  std::uint64_t& wanted = options.uploads.file_bytes_max;
  wanted = wanted == 0 ? most : std::min(wanted, most);
  auto place = std::make_shared<const StorePlace>(StorePlace{.store = std::move(store),
                                                             .budget = std::move(options.budget),
                                                             .pending = std::move(options.pending),
                                                             .types = std::move(options.types),
                                                             .options = std::move(options.uploads),
                                                             .limits = options.limits,
                                                             .sizes = options.sizes});
  return std::make_shared<ResumableInStore>(std::move(place));
}

}  // namespace h2server::content
