#include "content/uploads/resumable/pending_uploads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"

namespace h2server::content {

namespace {

std::unexpected<Response> refuse_error(int error) {
  if (error == ENOENT) return refused_missing();
  if (error == EWOULDBLOCK) return refused(423, "another request sends this upload");
  return std::unexpected(refuse_upload_error(error, "a resumable upload"));
}

// An unverified rest of a request with a checksum does not count.
std::uint64_t offset_of(const PendingDescription& description, std::uint64_t size) noexcept {
  return description.checked && *description.checked < size ? *description.checked : size;
}

}  // namespace

PendingUploads::PendingUploads(std::shared_ptr<UploadDirectory> directory, UploadOptions options,
                               PendingLimits limits)
    : directory_(std::move(directory)), options_(options), limits_(limits) {
  sweep();
}

bool PendingUploads::expired(std::int64_t modified_s) const noexcept {
  return base::unix_seconds() - modified_s >= limits_.expire_s;
}

// --- new uploads --------------------------------------------------------------------------------

// Refuses a name before its content is sent in vain. The rename at the end decides.
Result<void, Response> PendingUploads::check_name(const std::string& name, bool overwrite) const {
  const Result<UploadParent, int> parent = open_upload_parent(fd(), name, false);
  if (!parent && parent.error() == ENOENT) return {};
  if (!parent) return std::unexpected(refuse_upload_error(parent.error(), name));
  struct stat status{};
  if (::fstatat(parent->directory.get(), parent->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return {};
  }
  if (S_ISDIR(status.st_mode)) return std::unexpected(refuse_upload_error(EISDIR, name));
  if (!overwrite) return std::unexpected(refuse_upload_error(EEXIST, name));
  return {};
}

// One request at a time opens or joins an upload.
Result<NameReservation, Response> PendingUploads::reserve_upload(const std::string& id) {
  std::optional<NameReservation> reservation = directory_->names().reserve(pending_bytes_name(id));
  if (reservation) return *std::move(reservation);
  return refuse_error(EWOULDBLOCK);
}

Result<NameReservation, Response> PendingUploads::reserve(const std::string& name) {
  std::optional<NameReservation> reservation = directory_->names().reserve(name);
  if (reservation) return *std::move(reservation);
  return refused(409, fmt::format("{} is being uploaded already", name));
}

Result<void, Response> PendingUploads::check_new(const NewUpload& upload, bool overwrite) {
  if (pending_ >= limits_.uploads_max) return refused(503, "too many uploads are pending");
  if (upload.length && options_.file_bytes_max != 0 && *upload.length > options_.file_bytes_max) {
    return refused(413, fmt::format("a file may have at most {} bytes", options_.file_bytes_max));
  }
  UploadClaim claim(directory_->space(), options_);  // given back: it is sent later, if at all
  Result<void, Response> fits = answer_verdict(claim.expect(upload.length.value_or(0), 0));
  if (!fits || upload.name.empty()) return fits;
  Result<NameReservation, Response> free = reserve(upload.name);  // given back likewise
  if (!free) return std::unexpected(std::move(free.error()));
  if (directory_->is_locked(upload.name)) return refused_locked(upload.name);
  return check_name(upload.name, overwrite);
}

Result<std::unique_ptr<PendingUpload>, Response> PendingUploads::create(NewUpload upload,
                                                                        bool overwrite) {
  sweep_if_due();
  Result<void, Response> allowed = check_new(upload, overwrite);
  if (!allowed) return std::unexpected(std::move(allowed.error()));
  auto place = directory_->pending().take(upload.client);
  if (place == nullptr) return refused(503, "too many uploads of this client are pending");
  const std::string id = new_upload_id();
  PendingDescription description;
  description.length = upload.length;
  description.name = std::move(upload.name);
  description.metadata = std::move(upload.metadata);
  description.concatenation = upload.concatenation;
  description.parts = std::move(upload.parts);
  description.created_s = base::unix_seconds();
  const bool partial = upload.concatenation == Concatenation::partial;
  if (!partial && description.name.empty()) description.name = id;
  if (upload.sha256) description.declared_sha256 = hex_digits(*upload.sha256);
  Result<base::Fd, int> bytes = make_pending_bytes(fd(), id);
  if (!bytes) return refuse_error(bytes.error());
  const Result<void, int> written = write_pending_info(fd(), id, description, options_.durability);
  if (!written) {
    remove_pending(fd(), id);
    return refuse_error(written.error());
  }
  ++pending_;
  directory_->pending().keep(id, std::move(place));
  return std::make_unique<PendingUpload>(*this, id, *std::move(bytes), std::move(description), 0);
}

// --- known uploads ------------------------------------------------------------------------------

Result<PendingStatus, Response> PendingUploads::status(std::string_view text) {
  sweep_if_due();
  if (!is_upload_id(text)) return refused_missing();
  const std::string id(text);
  Result<PendingDescription, int> description = read_pending_info(fd(), id);
  if (!description) return refuse_error(description.error());
  std::optional<FileFacts> bytes = look_at_file(fd(), pending_bytes_name(id));
  PendingStatus status{.description = *std::move(description), .stored = !bytes};
  if (!bytes) bytes = look_at_file(fd(), pending_info_name(id));
  if (!bytes) return refused_missing();  // it was removed just now
  if (expired(bytes->modified_s)) return refused(410, "the upload has expired");
  status.changed_s = bytes->modified_s;
  status.expires_s = bytes->modified_s + limits_.expire_s;
  status.offset = status.stored ? status.description.length.value_or(0)
                                : offset_of(status.description, bytes->size);
  return status;
}

Result<std::unique_ptr<PendingUpload>, Response> PendingUploads::open(std::string_view text) {
  sweep_if_due();
  if (!is_upload_id(text)) return refused_missing();
  const std::string id(text);
  // Until it is locked, no join begins.
  Result<NameReservation, Response> reserved = reserve_upload(id);
  if (!reserved) return std::unexpected(std::move(reserved.error()));
  return open_reserved(id);
}

Result<std::unique_ptr<PendingUpload>, Response> PendingUploads::open_reserved(
    const std::string& id) {
  Result<base::Fd, int> bytes = lock_pending_bytes(fd(), id);
  if (!bytes) return refuse_error(bytes.error());
  const std::optional<FileFacts> facts = look_at_file(fd(), pending_bytes_name(id));
  Result<PendingDescription, int> description = read_pending_info(fd(), id);
  if (!description) return refuse_error(description.error());
  if (!facts) return refused_missing();
  if (expired(facts->modified_s)) return refused(410, "the upload has expired");
  if (description->length && *description->length < facts->size) return refuse_error(EBADMSG);
  const bool checked = description->checked.has_value();
  auto upload = std::make_unique<PendingUpload>(*this, id, *std::move(bytes),
                                                *std::move(description), facts->size);
  if (!checked) return upload;
  Result<void, Response> dropped = upload->end_checked(false);  // the server was killed meanwhile
  if (!dropped) return std::unexpected(std::move(dropped.error()));
  return upload;
}

void PendingUploads::forget(std::string_view text) noexcept {
  const std::string id(text);
  if (!is_upload_id(text) || look_at_file(fd(), pending_bytes_name(id))) return;
  remove_expired_info(id);
}

// --- concatenation ------------------------------------------------------------------------------

// Returns the sum of the lengths.
Result<std::uint64_t, Response> PendingUploads::check_parts(const std::vector<std::string>& ids) {
  std::uint64_t sum = 0;
  for (const std::string& id : ids) {
    const Result<PendingStatus, Response> part = status(id);
    if (!part) return refused(400, fmt::format("there is no partial upload {}", id));
    const bool partial = part->description.concatenation == Concatenation::partial;
    if (!partial || part->stored || part->description.length != part->offset) {
      return refused(400, fmt::format("the upload {} is not a whole partial upload", id));
    }
    if (part->offset > UINT64_MAX - sum) return refused(413, "the file is too large");
    sum += part->offset;
  }
  return sum;
}

Result<StoredFile, Response> PendingUploads::join(PendingUpload& target,
                                                  const std::vector<std::string>& ids,
                                                  bool overwrite, const file::StopFlag* stop) {
  Result<void, Response> done = target.expect(*target.description().length);
  if (!done) return std::unexpected(std::move(done.error()));
  for (const std::string& id : ids) {
    // Locked only while it is read: a process has few descriptors.
    const Result<base::Fd, int> part = lock_pending_bytes(fd(), id);
    if (!part) return refuse_error(part.error());
    const std::optional<FileFacts> facts = look_at_file(fd(), pending_bytes_name(id));
    if (!facts) return refused_missing();
    done = target.append_file(part->get(), facts->size, stop);
    if (!done) return std::unexpected(std::move(done.error()));
  }
  if (!target.whole()) return refused(400, "a partial upload has changed");
  return target.store(std::nullopt, overwrite, stop);
}

Result<ConcatenatedUpload, Response> PendingUploads::concatenate(
    NewUpload upload, const std::vector<std::string>& ids, bool overwrite,
    const file::StopFlag* stop) {
  std::vector<NameReservation> reserved;
  for (const std::string& id : ids) {
    Result<NameReservation, Response> part = reserve_upload(id);
    if (!part) return std::unexpected(std::move(part.error()));
    reserved.push_back(*std::move(part));
  }
  Result<std::uint64_t, Response> length = check_parts(ids);
  if (!length) return std::unexpected(std::move(length.error()));
  upload.length = *length;
  Result<std::unique_ptr<PendingUpload>, Response> target = create(std::move(upload), overwrite);
  if (!target) return std::unexpected(std::move(target.error()));
  Result<StoredFile, Response> stored = join(**target, ids, overwrite, stop);
  if (!stored) {
    (*target)->remove();
    return std::unexpected(std::move(stored.error()));
  }
  for (const std::string& id : ids) {
    const Result<std::unique_ptr<PendingUpload>, Response> part = open_reserved(id);
    if (part) {
      (*part)->remove();
      continue;
    }
    remove_pending(fd(), id);  // without a descriptor, say; it must not be joined again
    end(id);
  }
  return ConcatenatedUpload{.id = (*target)->id(), .file = *std::move(stored)};
}

// Another process may have counted the upload, and a sweep sets the number meanwhile.
void PendingUploads::end(const std::string& id) {
  std::size_t before = pending_;
  while (before > 0 && !pending_.compare_exchange_weak(before, before - 1)) {
  }
  directory_->pending().end(id);
}

// --- digests ------------------------------------------------------------------------------------

std::optional<PendingDigest> PendingUploads::take_digest(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = digests_.find(id);
  if (found == digests_.end()) return std::nullopt;
  std::optional<PendingDigest> digest(std::move(found->second));
  digests_.erase(found);
  return digest;
}

void PendingUploads::give_digest(const std::string& id, PendingDigest digest) {
  const std::lock_guard lock(mutex_);
  // Any other one is computed anew when its upload ends.
  if (digests_.size() >= limits_.digests_max) digests_.erase(digests_.begin());
  digests_.insert_or_assign(id, std::move(digest));
}

}  // namespace h2server::content
