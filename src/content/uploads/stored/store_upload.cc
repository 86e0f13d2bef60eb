#include "content/uploads/stored/store_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "content/storage/upload_refusals.h"
#include "content/store/store_objects.h"
#include "content/store/store_refusals.h"
#include "file/calls.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

// Runs what takes the processor's time on another thread, if there is one.
template <class Work>
Task<void> compute(Work work) {
  const auto run = [&work] {
    work();
    return true;
  };
  const std::optional<bool> done = co_await file::run_waiting(io::Engine::current(), run);
  if (!done) work();  // the server stops
}

std::unexpected<Response> refuse_for_memory() {
  return std::unexpected(refuse_store_error(StoreError{.kind = Kind::busy}));
}

PutOptions in_lease() {
  PutOptions options;
  options.time_max = StoreLease::reserve;
  return options;
}

}  // namespace

StoreUpload::StoreUpload(StorePlaceRef place, std::string id, std::unique_ptr<StoreLease> lease,
                         StoredProgress progress)
    : place_(std::move(place)),
      id_(std::move(id)),
      client_(place_->pending->client_of(id_)),
      lease_(std::move(lease)),
      state_(std::move(progress.state)),
      state_etag_(std::move(progress.state_etag)),
      parts_(std::move(progress.parts)),
      buffer_share_(std::move(progress.tail_share)) {
  for (const auto& [number, part] : parts_) offset_ += part.size;
  next_part_ = static_cast<unsigned>(parts_.size()) + 1;
  if (progress.tail) {
    tail_etags_[next_part_] = std::move(progress.tail_etag);
    buffer_ = std::move(progress.tail->bytes);
    digest_ = std::move(progress.tail->digest);
    offset_ += buffer_.size();
  }
  durable_ = offset_;
  const bool wanted = place_->options.sha256 || !state_.description.declared_sha256.empty();
  if (wanted && parts_.empty()) digest_.emplace();
}

Response StoreUpload::refuse(const StoreError& error) {
  if (error.kind == Kind::precondition) {
    return refuse_upload(423, "another request sends this upload");
  }
  return refuse_store_error(or_busy(error));
}

// --- the state ----------------------------------------------------------------------------------

Task<Result<void, Response>> StoreUpload::keep_lease() {
  const StoreResult<void> kept = co_await lease_->keep();
  if (!kept) co_return std::unexpected(refuse(kept.error()));
  co_return Result<void, Response>();
}

Task<Result<void, Response>> StoreUpload::write_state() {
  Result<void, Response> held = co_await keep_lease();
  if (!held) co_return held;
  PutOptions options = in_lease();
  options.if_match = state_etag_;
  StoreResult<ObjectInfo> written =
      co_await place_->store->put(state_key(id_), to_text(state_), std::move(options));
  if (!written) co_return std::unexpected(refuse(written.error()));
  state_etag_ = std::move(written->etag);
  co_return Result<void, Response>();
}

Task<Result<void, Response>> StoreUpload::announce(std::optional<std::uint64_t> length,
                                                   std::optional<Sha256::Value> sha256) {
  UploadState before = state_;
  PendingDescription& description = state_.description;
  if (length && description.length != length) {
    if (description.length) co_return refused(400, "another length was announced before");
    if (*length < offset_) co_return refused(400, "the upload has more bytes than that length");
    const std::uint64_t most = place_->options.file_bytes_max;
    if (*length > most) {
      co_return refused(413, fmt::format("a file may have at most {} bytes", most));
    }
    description.length = length;
  }
  std::string declared = sha256 ? hex_digits(*sha256) : description.declared_sha256;
  const bool late = !digest_ && !parts_.empty() && declared != description.declared_sha256;
  if (late) co_return refused(400, "a digest must be announced before the first part is stored");
  description.declared_sha256 = std::move(declared);
  if (state_ == before) co_return Result<void, Response>();
  Task<Result<void, Response>> work = write_announced(std::move(before));
  work.stop_by(unstopped_);
  Result<void, Response> written = co_await work;
  co_return written;
}

Task<Result<void, Response>> StoreUpload::write_announced(UploadState before) {
  if (!state_.description.declared_sha256.empty() && !digest_ && parts_.empty()) digest_.emplace();
  Result<void, Response> written = co_await write_state();
  if (!written) state_ = std::move(before);
  co_return written;
}

// --- bodies -------------------------------------------------------------------------------------

Result<void, Response> StoreUpload::check_size(std::uint64_t added) {
  const std::uint64_t most = place_->options.file_bytes_max;
  if (offset_ > most || added > most - offset_) {
    return refused(413, fmt::format("a file may have at most {} bytes", most));
  }
  const std::optional<std::uint64_t> length = state_.description.length;
  exceeded_ = length && added > *length - offset_;
  if (exceeded_) return refused(413, "there are more bytes than the upload's length announced");
  return {};
}

Task<Result<void, Response>> StoreUpload::begin_body(std::uint64_t bytes, bool checked) {
  Result<void, Response> fits = check_size(bytes);
  if (fits && checked) checked_.emplace();
  const std::size_t most = place_->sizes.checked_bytes_max;
  if (fits && checked && bytes > most) {
    fits = refused(413, fmt::format("content with a checksum has at most {} bytes", most));
  }
  if (!fits || !checked) co_return fits;
  const std::uint64_t needed = (bytes == 0 ? most : bytes) + place_->sizes.part_bytes;
  const bool waits = buffer_share_ == nullptr;
  const auto time = waits ? place_->sizes.budget_wait : std::chrono::milliseconds(0);
  BudgetShare taken = co_await share(*place_->budget, needed, client_, time);
  if (!taken) co_return refuse_for_memory();
  checked_share_ = std::move(taken);
  co_return fits;
}

Task<Result<void, Response>> StoreUpload::append(std::string_view bytes, ExpectedDigest* expected) {
  Task<Result<void, Response>> work = add(bytes, expected);
  work.stop_by(unstopped_);
  Result<void, Response> added = co_await work;
  co_return added;
}

Task<Result<void, Response>> StoreUpload::add(std::string_view bytes, ExpectedDigest* expected) {
  if (failure_) co_return std::unexpected(refuse(*failure_));
  Result<void, Response> fits = check_size(bytes.size() + (checked_ ? checked_->size() : 0));
  // Each progress prolongs the lease: a client that is slow keeps it, one that is gone does not.
  const bool progress = fits && !bytes.empty();
  if (progress) fits = co_await keep_lease();
  if (!fits) co_return fits;
  if (!checked_) {
    Result<void, Response> filled = co_await fill_parts(bytes);
    co_return filled;
  }
  const std::size_t most = place_->sizes.checked_bytes_max;
  if (bytes.size() > most - checked_->size()) {
    co_return refused(413, fmt::format("content with a checksum has at most {} bytes", most));
  }
  const auto update = [expected, bytes] { expected->update(bytes); };
  if (expected != nullptr) co_await compute(update);
  *checked_ += bytes;
  co_return Result<void, Response>();
}

Task<Result<void, Response>> StoreUpload::fill_parts(std::string_view bytes) {
  while (!bytes.empty()) {
    Result<void, Response> room = co_await take_share(bytes.size());
    if (!room) co_return room;
    const std::size_t count = std::min(bytes.size(), place_->sizes.part_bytes - buffer_.size());
    buffer_ += bytes.substr(0, count);
    offset_ += count;
    bytes.remove_prefix(count);
    if (buffer_.size() < place_->sizes.part_bytes) continue;
    Result<void, Response> begun = co_await begin_part();
    if (!begun) co_return begun;
  }
  co_return Result<void, Response>();
}

// Of part_bytes, unless the buffer needs none for so many bytes more.
Task<Result<void, Response>> StoreUpload::take_share(std::size_t wanted) {
  const StoreUploadSizes& sizes = place_->sizes;
  const bool small = in_flight_ == 0 && wanted <= sizes.unbudgeted_bytes &&
                     buffer_.size() <= sizes.unbudgeted_bytes - wanted;
  if (small) co_return Result<void, Response>();
  while (buffer_share_ == nullptr && in_flight_ != 0) {
    buffer_share_ = try_share(*place_->budget, sizes.part_bytes, client_);
    if (buffer_share_ != nullptr) break;
    wants_share_ = true;
    co_await wait_for_part();
    wants_share_ = false;
  }
  if (buffer_share_ != nullptr || checked_share_ != nullptr) co_return Result<void, Response>();
  BudgetShare taken = co_await share(*place_->budget, sizes.part_bytes, client_, sizes.budget_wait);
  if (!taken) co_return refuse_for_memory();
  buffer_share_ = std::move(taken);
  co_return Result<void, Response>();
}

// Sends the buffer as a part, while the next is received.
Task<Result<void, Response>> StoreUpload::begin_part() {
  while (in_flight_ >= place_->sizes.parts_at_once) co_await wait_for_part();
  if (failure_) co_return std::unexpected(refuse(*failure_));
  Result<void, Response> ready;
  if (state_.parts.id.empty()) ready = co_await begin_parts();
  if (ready) ready = co_await keep_lease();
  if (!ready) co_return ready;
  std::optional<std::string> next_tail;
  if (digest_) {
    const auto update = [this] { digest_->update(buffer_); };
    co_await compute(update);
    next_tail = make_tail(digest_, {});
  }
  ++in_flight_;
  sending_.start(put_part(next_part_, std::exchange(buffer_, {}), std::move(next_tail),
                          std::move(buffer_share_)));
  ++next_part_;
  co_return Result<void, Response>();
}

Task<Result<void, Response>> StoreUpload::begin_parts() {
  StoreResult<PartsId> parts =
      co_await place_->store->begin_parts(state_.description.name, written_as_file());
  if (!parts) co_return std::unexpected(refuse_store_error(parts.error()));
  state_.parts = *std::move(parts);
  Result<void, Response> written = co_await write_state();
  if (written) co_return written;
  // If it was written nevertheless, it names parts that are absent, as if there were none.
  const StoreResult<void> abandoned = co_await place_->store->abandon_parts(state_.parts);
  static_cast<void>(abandoned);
  state_.parts = {};
  co_return written;
}

Task<void> StoreUpload::wait_for_part() {
  coro::StoppableWait wait;
  part_wait_ = &wait;
  co_await wait.regardless();
}

Task<void> StoreUpload::put_part(unsigned number, std::string bytes,
                                 std::optional<std::string> next_tail, BudgetShare share) {
  StoreResult<void> done = co_await try_put_part(number, std::move(bytes), std::move(next_tail));
  if (!done && !failure_) failure_ = std::move(done.error());
  --in_flight_;
  if (wants_share_ && buffer_share_ == nullptr) buffer_share_ = std::move(share);
  share.reset();
  coro::StoppableWait* const waiter = std::exchange(part_wait_, nullptr);
  if (waiter != nullptr) waiter->complete();
}

// The state of the digest behind the part precedes it: whoever finds the part finds that, too.
Task<StoreResult<void>> StoreUpload::try_put_part(unsigned number, std::string bytes,
                                                  std::optional<std::string> next_tail) {
  Store& store = *place_->store;
  if (next_tail) {
    StoreResult<ObjectInfo> put =
        co_await store.put(tail_key(id_, number + 1), *std::move(next_tail), in_lease());
    if (!put) co_return std::unexpected(std::move(put.error()));
    tail_etags_[number + 1] = std::move(put->etag);
  }
  StoreResult<StoredPart> part = co_await store.put_part(state_.parts, number, std::move(bytes));
  if (!part) co_return std::unexpected(std::move(part.error()));
  parts_[number] = *std::move(part);
  // It does not count any more. What stays is removed at the end.
  const StoreResult<void> removed = co_await store.remove(tail_key(id_, number));
  static_cast<void>(removed);
  co_return StoreResult<void>();
}

Task<Result<BodyEnd, Response>> StoreUpload::end_body(std::string_view bytes, bool whole,
                                                      ExpectedDigest* expected) {
  Task<Result<BodyEnd, Response>> work = finish_body(bytes, whole, expected);
  work.stop_by(unstopped_);
  Result<BodyEnd, Response> ended = co_await work;
  co_return ended;
}

Task<Result<BodyEnd, Response>> StoreUpload::finish_body(std::string_view bytes, bool whole,
                                                         ExpectedDigest* expected) {
  Result<void, Response> done = co_await add(bytes, expected);
  std::optional<std::string> verified = std::exchange(checked_, std::nullopt);
  const bool mismatched = whole && expected != nullptr && !expected->matches();
  const bool counts = done && whole && verified && !mismatched;
  if (counts) done = co_await fill_parts(*verified);
  co_await sending_.join();
  if (done && failure_) done = std::unexpected(refuse(*failure_));
  if (!failure_) {
    Result<void, Response> kept = co_await put_tail();
    if (done && !kept) done = std::move(kept);
  }
  settle();
  if (!done) co_return std::unexpected(std::move(done.error()));
  if (!whole) co_return BodyEnd::cut;
  co_return mismatched ? BodyEnd::mismatched : BodyEnd::whole;
}

Task<Result<void, Response>> StoreUpload::put_tail() {
  if (offset_ == durable_ || buffer_.empty()) co_return Result<void, Response>();
  Result<void, Response> held = co_await keep_lease();
  if (!held) co_return held;
  PutOptions options = in_lease();
  // So that a request that has lost the upload without knowing replaces nothing that was
  // acknowledged since. Without a digest, an old tail of that number may lie there.
  const auto known = tail_etags_.find(next_part_);
  if (known != tail_etags_.end()) options.if_match = known->second;
  StoreResult<ObjectInfo> put = co_await place_->store->put(
      tail_key(id_, next_part_), make_tail(digest_, buffer_), std::move(options));
  if (!put) co_return std::unexpected(refuse(put.error()));
  tail_etags_[next_part_] = std::move(put->etag);
  durable_ = offset_;
  co_return Result<void, Response>();
}

// After a failure, what counts is what the store has.
void StoreUpload::settle() {
  std::uint64_t sum = 0;
  unsigned number = 1;
  for (; parts_.contains(number); ++number) sum += parts_[number].size;
  durable_ = std::max(durable_, sum);
  offset_ = durable_;
}

Task<void> StoreUpload::close() {
  Task<void> work = lease_->give_back();
  work.stop_by(unstopped_);
  co_await work;
}

}  // namespace h2server::content
