#include "content/uploads/receive/raw_receiver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <span>
#include <utility>

#include "content/storage/upload_refusals.h"
#include "file/open_beneath.h"
#include "http/file_head.h"

namespace h2server::content {

namespace {

// What has the path of an upload.
struct Target : UploadTarget {
  bool is_directory = false;
};

// The error is an errno value.
Result<Target, int> look_at_target(int directory, const std::string& path) {
  Target target;
  const Result<UploadParent, int> parent = open_upload_parent(directory, path, false);
  if (!parent && parent.error() == ENOENT) return target;
  if (!parent) return std::unexpected(parent.error());
  struct stat status{};
  if (::fstatat(parent->directory.get(), parent->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return target;
    return std::unexpected(errno);  // ENAMETOOLONG, EACCES, EIO
  }
  target.exists = true;
  target.is_directory = S_ISDIR(status.st_mode);
  // Downloads follow a link that stays beneath the directory. Others have no representation.
  const Result<base::Fd, int> file = file::open_beneath_now(directory, path, O_PATH);
  if (!file) return target;
  if (const std::optional<file::FileVersion> version = file::version_of(file->get())) {
    target.etag = http::FileHead(*version, {}, 0).etag;
    target.modified_s = version->modified_s;
  }
  return target;
}

}  // namespace

RawReceiver::RawReceiver(RawHead head, UploadPlace place, const UploadOptions& options)
    : head_(std::move(head)),
      place_(std::move(place)),
      options_(options),
      digests_(head_.digests, false) {}

Result<void, Response> RawReceiver::begin() {
  if (file_) return {};
  Result<void, Response> done = check_size(head_.body_bytes.value_or(0));
  if (done) done = place_.open();
  if (!done) return done;
  if (!place_.locks_are_checked && place_.directory->is_locked(head_.path)) {
    return refused_locked(head_.path);
  }
  reservation_ = place_.directory->names().reserve(head_.path);
  if (!reservation_) {
    return refused(409, fmt::format("{} is being uploaded already", head_.path));
  }
  Result<Existing, Response> target = check_target();
  if (!target) return std::unexpected(std::move(target.error()));
  claim_.emplace(place_.directory->space(), options_);
  done = answer_verdict(claim_->expect(head_.body_bytes.value_or(0), 0));
  if (!done) return done;
  names_.emplace(place_.directory->fd(), 0644, TemporaryNames::Lock::in_first_file);
  const UploadFilePlan plan{.sha256 = options_.sha256 || head_.digests.sha256,
                            .durability = options_.durability,
                            .size = head_.body_bytes};
  Result<UploadFile, int> file = UploadFile::open(*names_, head_.path, plan);
  if (!file) return refused_for(file.error(), head_.path);
  file_.emplace(*std::move(file));
  return {};
}

Result<void, Response> RawReceiver::check_size(std::uint64_t bytes) const {
  if (options_.file_bytes_max == 0 || bytes <= options_.file_bytes_max) return {};
  return refused(413, fmt::format("{} is larger than a file may be: {} bytes", head_.path,
                                  options_.file_bytes_max));
}

// Returns what may happen to an existing file.
Result<Existing, Response> RawReceiver::check_target() const {
  const Result<Target, int> target = look_at_target(place_.directory->fd(), head_.path);
  if (!target) return refused_for(target.error(), head_.path);
  if (target->is_directory) return refused_for(EISDIR, head_.path);
  const RawPreconditions& stated = head_.preconditions;
  if (!holds(stated, *target)) return std::unexpected(refuse_state(head_.path));
  if (!target->exists && stated.if_none_match) return Existing::refuse;
  if (options_.overwrite || stated.if_match) return Existing::replace;
  if (target->exists) return refused_for(EEXIST, head_.path);
  return Existing::refuse;
}

Result<void, Response> RawReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = begin();
  if (taken && !bytes.empty()) taken = write(bytes);
  if (!taken) discard();
  return taken;
}

Result<void, Response> RawReceiver::write(std::string_view bytes) {
  Result<void, Response> done = check_size(file_->size() + bytes.size());
  if (done) done = answer_verdict(claim_->cover(bytes.size()));
  if (!done) return done;
  // A file of one batch is written at once.
  if (bytes.size() != head_.body_bytes) {
    const Result<std::uint64_t, int> allocated = file_->allocate(claim_->ahead());
    if (!allocated) return refused_for(allocated.error(), head_.path);
    claim_->allocated(*allocated);
  }
  digests_.update(bytes);
  const Result<void, int> written = file_->write(bytes);
  if (!written) return refused_for(written.error(), head_.path);
  claim_->wrote(bytes.size());
  return {};
}

Stored RawReceiver::commit() {
  Stored stored = rename();
  if (!stored) {
    discard();
    return stored;
  }
  claim_->keep(file_->replaced_size());
  file_.reset();  // removes the replaced file
  names_.reset();
  reservation_.reset();
  return stored;
}

Stored RawReceiver::rename() {
  const Result<void, int> closed = file_->close();
  if (!closed) return refused_for(closed.error(), head_.path);
  const bool same = !head_.digests.sha256 || file_->sha256() == hex_digits(*head_.digests.sha256);
  if (!same || !digests_.matches()) return std::unexpected(refuse_digest());
  // Again, since others may have changed the file meanwhile.
  Result<Existing, Response> existing = check_target();
  if (!existing) return std::unexpected(std::move(existing.error()));
  const Result<void, int> committed = file_->commit(*existing);
  if (!committed) {
    const bool conditional = committed.error() == EEXIST && head_.preconditions.if_none_match;
    if (conditional) return refused(412, fmt::format("{} exists already", head_.path));
    return refused_for(committed.error(), head_.path);
  }
  if (options_.durability == Durability::file_and_directory) {
    const Result<void, int> synced = sync_folders(place_.directory->fd(), std::span(&*file_, 1));
    if (!synced) {
      file_->revoke();
      return refused_for(synced.error(), head_.path);
    }
  }
  StoredFile stored = file_->stored();
  if (!options_.sha256) stored.sha256.clear();
  return Stored({std::move(stored)});
}

void RawReceiver::discard() noexcept {
  file_.reset();
  names_.reset();
  claim_.reset();
  reservation_.reset();
}

}  // namespace h2server::content
