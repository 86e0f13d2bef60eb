#include "content/uploads/receive/directory_receiver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
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
Result<Target, int> look_at_target(int directory, const std::string& path, bool with_validators) {
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
  if (!with_validators) return target;
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

DirectoryReceiver::DirectoryReceiver(UploadIntent intent, UploadPlace place)
    : intent_(std::move(intent)),
      place_(std::move(place)),
      digests_(intent_.digests, intent_.is_form()) {}

// --- the body ---------------------------------------------------------------------------------

Result<void, Response> DirectoryReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = begin();
  if (taken) taken = store(bytes);
  if (!taken) discard();
  return taken;
}

Result<void, Response> DirectoryReceiver::begin() {
  if (claim_) return {};
  Result<void, Response> opened = place_.open();
  if (!opened) return opened;
  names_.emplace(place_.directory->fd(), 0644, TemporaryNames::Lock::in_first_file);
  claim_.emplace(place_.directory->space(), intent_.options);
  if (!intent_.is_form()) return {};
  return answer_verdict(claim_->expect(intent_.body_bytes.value_or(0)));
}

Result<void, Response> DirectoryReceiver::store(std::string_view bytes) {
  digests_.update(bytes);
  body_.feed(bytes);
  for (;;) {
    Result<void, Response> done;
    switch (body_.next()) {
      case BodyFiles::Event::need_more:
        return {};
      case BodyFiles::Event::begin:
        done = begin_file();
        break;
      case BodyFiles::Event::data:
        done = write(body_.data());
        break;
      case BodyFiles::Event::end:
        done = close_file();
        break;
      case BodyFiles::Event::refused:
        return std::unexpected(body_.take_refusal());
    }
    if (!done) return done;
  }
}

// Refuses a name before its content is sent in vain.
Result<void, Response> DirectoryReceiver::begin_file() {
  const std::string& path = body_.path();
  if (!intent_.locks_are_checked && place_.directory->is_locked(path)) return refused_locked(path);
  std::optional<NameReservation> reservation = place_.directory->names().reserve(path);
  if (!reservation) return refused(409, fmt::format("{} is being uploaded already", path));
  reservations_.push_back(*std::move(reservation));
  Result<Existing, Response> target = check_target(path);
  if (!target) return std::unexpected(std::move(target.error()));
  if (!intent_.is_form()) {
    Result<void, Response> room = answer_verdict(claim_->expect(body_.size().value_or(0), 0));
    if (!room) return room;
  }
  const UploadFilePlan plan{.sha256 = intent_.needs_sha256(),
                            .durability = intent_.options.durability,
                            .size = body_.size()};
  Result<UploadFile, int> file = UploadFile::open(*names_, path, plan);
  if (!file) return refused_for(file.error(), path);
  files_.push_back(*std::move(file));
  in_file_ = true;
  return {};
}

Result<void, Response> DirectoryReceiver::write(std::string_view bytes) {
  UploadFile& file = files_.back();
  Result<void, Response> covered = answer_verdict(claim_->cover(bytes.size()));
  if (!covered) return covered;
  // A file of one batch is written at once.
  if (bytes.size() != body_.size()) {
    const Result<std::uint64_t, int> allocated = file.allocate(claim_->ahead());
    if (!allocated) return refused_for(allocated.error(), file.name());
    claim_->allocated(*allocated);
  }
  const Result<void, int> written = file.write(bytes);
  if (!written) return refused_for(written.error(), file.name());
  claim_->wrote(bytes.size());
  return {};
}

Result<void, Response> DirectoryReceiver::close_file() {
  in_file_ = false;
  const Result<void, int> closed = files_.back().close();
  if (!closed) return refused_for(closed.error(), files_.back().name());
  return {};
}

// Returns what may happen to an existing file.
Result<Existing, Response> DirectoryReceiver::check_target(const std::string& path) const {
  const UploadPreconditions& stated = intent_.preconditions;
  const Result<Target, int> target = look_at_target(place_.directory->fd(), path, stated.any());
  if (!target) return refused_for(target.error(), path);
  if (target->is_directory) return refused_for(EISDIR, path);
  if (!holds(stated, *target)) return std::unexpected(refuse_state(path));
  if (!target->exists && stated.if_none_match) return Existing::refuse;
  if (intent_.options.overwrite || stated.if_match) return Existing::replace;
  if (target->exists) return refused_for(EEXIST, path);
  return Existing::refuse;
}

// --- the end ----------------------------------------------------------------------------------

Stored DirectoryReceiver::commit() {
  Stored stored;
  if (Result<void, Response> complete = check_complete(); complete) {
    stored = rename_all();
  } else {
    stored = std::unexpected(std::move(complete.error()));
  }
  if (!stored) {
    discard();
    return stored;
  }
  std::uint64_t replaced = 0;
  for (const UploadFile& file : files_) replaced += file.replaced_size();
  claim_->keep(replaced);
  files_.clear();  // removes the replaced files
  names_.reset();
  reservations_.clear();
  return stored;
}

Result<void, Response> DirectoryReceiver::check_complete() {
  Result<void, Response> complete = body_.check_complete();
  if (complete && in_file_) complete = close_file();
  if (!complete) return complete;
  const bool same = intent_.is_as_stated(files_.front().sha256());
  if (!same || !digests_.matches()) return std::unexpected(refuse_digest());
  if (intent_.locks_are_checked) return {};
  for (const UploadFile& file : files_) {  // a lock may be newer than the upload
    if (place_.directory->is_locked(file.name())) return refused_locked(file.name());
  }
  return {};
}

Result<void, Response> DirectoryReceiver::rename(UploadFile& file) const {
  const bool conditional = intent_.preconditions.any();
  Result<Existing, Response> existing =
      intent_.options.overwrite ? Existing::replace : Existing::refuse;
  // Again, since others may have changed the file meanwhile.
  if (conditional) existing = check_target(file.name());
  if (!existing) return std::unexpected(std::move(existing.error()));
  const Result<void, int> committed = file.commit(*existing);
  if (committed) return {};
  if (committed.error() == EEXIST && intent_.preconditions.if_none_match) {
    return refused(412, fmt::format("{} exists already", file.name()));
  }
  return refused_for(committed.error(), file.name());
}

// Commits the first file last, since it carries the lock for all.
Stored DirectoryReceiver::rename_all() {
  std::vector<StoredFile> stored;
  for (std::size_t i = files_.size(); i-- > 0;) {
    Result<void, Response> renamed = rename(files_[i]);
    if (!renamed) {
      while (++i < files_.size()) files_[i].revoke();
      return std::unexpected(std::move(renamed.error()));
    }
    stored.push_back(files_[i].stored());
    if (!intent_.options.sha256) stored.back().sha256.clear();
  }
  if (intent_.options.durability == Durability::file_and_directory) {
    const Result<void, int> synced = sync_folders(names_->directory(), files_);
    if (!synced) {
      for (UploadFile& file : files_) file.revoke();
      return refused_for(synced.error(), files_.front().name());
    }
  }
  std::ranges::reverse(stored);
  return stored;
}

void DirectoryReceiver::discard() noexcept {
  while (!files_.empty()) files_.pop_back();
  names_.reset();  // closes the lock's descriptor, the last one of the first file
  claim_.reset();
  reservations_.clear();
}

}  // namespace h2server::content
