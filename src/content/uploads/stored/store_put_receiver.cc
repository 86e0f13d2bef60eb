#include "content/uploads/stored/store_put_receiver.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "content/names/object_key.h"
#include "content/storage/upload_refusals.h"
#include "content/store/store_refusals.h"
#include "content/uploads/receive/received_digest.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

}  // namespace

StorePutReceiver::StorePutReceiver(RawHead head, StoreUploads& uploads,
                                   const UploadOptions& options)
    : head_(std::move(head)),
      uploads_(uploads),
      options_(options),
      digests_(head_.digests, false),
      writer_(uploads.writer_parts(), uploads.plan(head_.path, head_.body_bytes)) {
  if (options_.sha256 || head_.digests.sha256) sha256_.emplace();
}

// --- whether it may be stored -----------------------------------------------------------------

Result<void, Response> StorePutReceiver::check_size(std::uint64_t bytes) const {
  const std::uint64_t limit = options_.file_bytes_max;
  if (limit != 0 && bytes > limit) {
    return refused(413,
                   fmt::format("{} is larger than a file may be: {} bytes", head_.path, limit));
  }
  const bool known = head_.body_bytes.has_value();
  const std::uint64_t most = ObjectWriter::bytes_max(uploads_.limits(), known);
  if (bytes <= most) return {};
  return refused(413, fmt::format("{} is larger than an object{} may be: {} bytes", head_.path,
                                  known ? "" : " of unknown size", most));
}

// A small body for a new name costs one call: the put decides.
bool StorePutReceiver::needs_look() const noexcept {
  const RawPreconditions& stated = head_.preconditions;
  return options_.overwrite || stated.if_match || stated.if_none_match ||
         stated.if_unmodified_since ||
         head_.body_bytes.value_or(ReceiveLimits::checked_bytes_min + 1) >
             ReceiveLimits::checked_bytes_min;
}

Task<Result<void, Response>> StorePutReceiver::begin() {
  Result<void, Response> fits = check_size(head_.body_bytes.value_or(0));
  if (!fits) co_return fits;
  if (!is_object_key(head_.path)) co_return refused(400, "not a name that the store can hold");
  begun_ = true;
  condition_.must_be_new = true;
  if (!needs_look()) co_return Result<void, Response>();
  Result<void, Response> looked = co_await look();
  co_return looked;
}

Task<Result<void, Response>> StorePutReceiver::look() {
  StoreResult<ObjectInfo> found = co_await uploads_.store().head(head_.path, GetOptions());
  UploadTarget target;
  if (found) {
    target = {.exists = true, .etag = found->etag, .modified_s = found->modified_s};
  } else if (found.error().kind != Kind::absent) {
    co_return std::unexpected(refuse_store_error(found.error(), head_.path));
  }
  co_return decide(target);
}

// What is decided here is still so when the object is made, or it is not made.
Result<void, Response> StorePutReceiver::decide(const UploadTarget& target) {
  const RawPreconditions& stated = head_.preconditions;
  if (!holds(stated, target)) return std::unexpected(refuse_state(head_.path));
  if (!target.exists) {
    condition_.must_be_new = !options_.overwrite || stated.if_none_match;
    return {};
  }
  if (!options_.overwrite && !stated.if_match) {
    return std::unexpected(refuse_upload_error(EEXIST, head_.path));
  }
  replaces_ = true;
  condition_.must_be_new = false;
  if (!stated.if_match && !stated.if_none_match && !stated.if_unmodified_since) return {};
  if (target.etag.empty()) return refused(502, "the store has no versions of objects");
  condition_.if_match = target.etag;
  return {};
}

// --- the body ---------------------------------------------------------------------------------

Task<Result<void, Response>> StorePutReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = {};
  if (!begun_) {
    Result<void, Response> begun = co_await begin();
    taken = std::move(begun);
  }
  if (taken && !bytes.empty()) {
    Result<void, Response> written = co_await write(bytes);
    taken = std::move(written);
  }
  if (!taken) co_await discard();
  co_return taken;
}

Task<Result<void, Response>> StorePutReceiver::write(std::string_view bytes) {
  Result<void, Response> fits = check_size(writer_.size() + bytes.size());
  if (!fits) co_return fits;
  const bool hashed = co_await add_to_digests(bytes, digests_, sha256_ ? &*sha256_ : nullptr);
  if (!hashed) co_return refused(503, "the server stops");
  const StoreResult<void> written = co_await writer_.write(bytes);
  if (!written) co_return std::unexpected(refuse_store_error(written.error(), head_.path));
  co_return Result<void, Response>();
}

Task<void> StorePutReceiver::discard() { return writer_.discard(); }

// --- the end ----------------------------------------------------------------------------------

Task<Stored> StorePutReceiver::commit() {
  StoredFile file{.name = head_.path, .size = writer_.size(), .replaced = replaces_};
  file.sha256 = digits_of(sha256_);
  const bool same = !head_.digests.sha256 || file.sha256 == hex_digits(*head_.digests.sha256);
  if (!same || !digests_.matches()) {
    co_await discard();
    co_return std::unexpected(refuse_digest());
  }
  StoreResult<ObjectInfo> made = co_await writer_.commit(condition_);
  if (!made) co_return std::unexpected(refuse(made.error()));
  file.etag = std::move(made->etag);
  if (!options_.sha256) file.sha256.clear();
  std::vector<StoredFile> files;
  files.push_back(std::move(file));
  co_return files;
}

Response StorePutReceiver::refuse(const StoreError& error) const {
  const bool conditional = condition_.must_be_new || !condition_.if_match.empty();
  if (error.kind == Kind::absent && !condition_.if_match.empty()) return refuse_state(head_.path);
  if (error.kind != Kind::precondition || !conditional) {
    return refuse_store_error(error, head_.path);
  }
  if (!condition_.must_be_new) return refuse_state(head_.path);
  if (!head_.preconditions.if_none_match) return refuse_upload_error(EEXIST, head_.path);
  return refuse_upload(412, fmt::format("{} exists already", head_.path));
}

}  // namespace h2server::content
