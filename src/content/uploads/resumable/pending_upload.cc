#include "content/uploads/resumable/pending_upload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "content/storage/commit_file.h"
#include "content/storage/names_in_flight.h"
#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/resumable/pending_uploads.h"

namespace h2server::content {

namespace {

constexpr std::size_t piece_bytes = 256 * 1024;  // of what is read again

Result<void, Response> answer(const Result<void, int>& done, std::string_view name) {
  if (done) return {};
  return std::unexpected(refuse_upload_error(done.error(), name));
}

off_t to_offset(std::uint64_t bytes) noexcept { return static_cast<off_t>(bytes); }

// Returns how many bytes were written; `error` says why they are not all.
std::size_t write_at(int file, std::string_view bytes, std::uint64_t offset, int& error) noexcept {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count =
        ::pwrite(file, bytes.data() + written, bytes.size() - written, to_offset(offset + written));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      error = errno;  // ENOSPC, EDQUOT, EFBIG, EIO
      break;
    }
    written += static_cast<std::size_t>(count);
  }
  return written;
}

}  // namespace

PendingUpload::PendingUpload(PendingUploads& store, std::string id, base::Fd bytes,
                             PendingDescription description, std::uint64_t offset)
    : store_(store),
      id_(std::move(id)),
      bytes_(std::move(bytes)),
      description_(std::move(description)),
      offset_(offset),
      digest_(store_.take_digest(id_)) {
  if (digest_ && digest_->bytes > offset_) digest_.reset();
}

PendingUpload::~PendingUpload() {
  keep_claim(0);
  if (state_ == State::pending && digest_) store_.give_digest(id_, *std::move(digest_));
}

// --- bytes --------------------------------------------------------------------------------------

UploadClaim& PendingUpload::claim() {
  if (!claim_) claim_.emplace(store_.directory_->space(), store_.options_);
  return *claim_;
}

// What was written counts as stored, since it stays on the disk, but for `dropped` bytes.
void PendingUpload::keep_claim(std::uint64_t dropped) noexcept {
  if (claim_) {
    claim_->keep(dropped);
    claim_.reset();
  } else if (dropped > 0) {
    store_.directory_->space().keep(0, dropped);
  }
}

Result<void, Response> PendingUpload::expect(std::uint64_t bytes) {
  Result<void, Response> fits = check_size(bytes);
  if (!fits) return fits;
  return answer_verdict(claim().expect(bytes, 0));
}

Result<void, Response> PendingUpload::check_size(std::uint64_t added) {
  const std::uint64_t most = store_.options_.file_bytes_max;
  if (most != 0 && (offset_ > most || added > most - offset_)) {
    return refused(413, fmt::format("a file may have at most {} bytes", most));
  }
  exceeded_ = description_.length && added > *description_.length - offset_;
  if (exceeded_) return refused(413, "there are more bytes than the upload's length announced");
  return {};
}

Result<void, Response> PendingUpload::append(std::string_view bytes) {
  ASSERT(state_ == State::pending);
  if (bytes.empty()) return {};
  Result<void, Response> fits = check_size(bytes.size());
  if (fits) fits = answer_verdict(claim().cover(bytes.size()));
  if (!fits) return fits;
  if (!digest_ && offset_ == 0 && store_.options_.sha256) digest_.emplace();
  int error = 0;
  const std::size_t written = write_at(bytes_.get(), bytes, offset_, error);
  claim().wrote(written);
  if (digest_ && digest_->bytes == offset_) {
    digest_->digest.update(bytes.substr(0, written));
    digest_->bytes += written;
  }
  offset_ += written;
  if (error != 0) return std::unexpected(refuse_upload_error(error, "the upload"));
  return {};
}

Result<void, Response> PendingUpload::append_file(int file, std::uint64_t bytes,
                                                  const file::StopFlag* stop) {
  std::string piece(piece_bytes, '\0');
  std::uint64_t done = 0;
  while (done < bytes) {
    if (file::is_set(stop)) return refused(503, "the request was given up");
    const std::size_t wanted = std::min<std::uint64_t>(bytes - done, piece.size());
    const ssize_t count = ::pread(file, piece.data(), wanted, to_offset(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {  // 0: somebody else shortened it
      return std::unexpected(refuse_upload_error(count < 0 ? errno : EIO, "a partial upload"));
    }
    const auto size = static_cast<std::size_t>(count);
    Result<void, Response> added = append(std::string_view(piece).substr(0, size));
    if (!added) return added;
    done += size;
  }
  return {};
}

Result<void, Response> PendingUpload::sync() {
  if (store_.options_.durability == Durability::none) return {};
  return answer(sync_file(bytes_.get()), "the upload");
}

// --- the description ----------------------------------------------------------------------------

Result<void, Response> PendingUpload::write_description() {
  const Result<void, int> written =
      write_pending_info(store_.fd(), id_, description_, store_.options_.durability);
  return answer(written, "the description of an upload");
}

Result<void, Response> PendingUpload::announce_length(std::uint64_t length) {
  if (description_.length == length) return {};
  if (description_.length) return refused(400, "another length was announced before");
  if (length < offset_) return refused(400, "the upload has more bytes than that length");
  const std::uint64_t most = store_.options_.file_bytes_max;
  if (most != 0 && length > most) {
    return refused(413, fmt::format("a file may have at most {} bytes", most));
  }
  description_.length = length;
  return write_description();
}

Result<void, Response> PendingUpload::declare_digest(const Sha256::Value& sha256) {
  std::string digits = hex_digits(sha256);
  if (description_.declared_sha256 == digits) return {};
  description_.declared_sha256 = std::move(digits);
  return write_description();
}

Result<void, Response> PendingUpload::begin_checked() {
  description_.checked = offset_;
  return write_description();
}

Result<void, Response> PendingUpload::end_checked(bool verified) {
  ASSERT(description_.checked);
  const std::uint64_t before = *std::exchange(description_.checked, std::nullopt);
  if (!verified && before < offset_) {
    if (::ftruncate(bytes_.get(), to_offset(before)) != 0) {  // EIO, EROFS
      description_.checked = before;
      return std::unexpected(refuse_upload_error(errno, "the upload"));
    }
    keep_claim(offset_ - before);
    offset_ = before;
    digest_.reset();  // is computed anew at the end
  }
  return write_description();
}

void PendingUpload::remove() noexcept {
  if (state_ != State::pending) return;
  remove_pending(store_.fd(), id_);
  keep_claim(offset_);
  state_ = State::removed;
  store_.end(id_);
}

// --- the end ------------------------------------------------------------------------------------

std::uint64_t PendingUpload::bytes_to_digest() const noexcept {
  const bool wanted = store_.options_.sha256 || !description_.declared_sha256.empty();
  if (!wanted || !description_.sha256.empty()) return 0;
  return offset_ - (digest_ ? digest_->bytes : 0);
}

// Continues the digest to the last byte. After a restart of the server that reads all of it.
Result<void, Response> PendingUpload::digest_all(const file::StopFlag* stop) {
  if (!digest_) digest_.emplace();
  std::string piece;
  if (digest_->bytes < offset_) piece.resize(piece_bytes);
  while (digest_->bytes < offset_) {
    if (file::is_set(stop)) return refused(503, "the request was given up");
    const std::size_t wanted = std::min<std::uint64_t>(offset_ - digest_->bytes, piece.size());
    const ssize_t count = ::pread(bytes_.get(), piece.data(), wanted, to_offset(digest_->bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return std::unexpected(refuse_upload_error(count < 0 ? errno : EIO, "the upload"));
    }
    digest_->digest.update(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
    digest_->bytes += static_cast<std::uint64_t>(count);
  }
  description_.sha256 = hex_digits(digest_->digest.finish());
  digest_.reset();
  return {};
}

Result<void, Response> PendingUpload::check_digest(const file::StopFlag* stop) {
  const bool declared = !description_.declared_sha256.empty();
  if (!store_.options_.sha256 && !declared) return {};
  if (description_.sha256.empty()) {
    Result<void, Response> digested = digest_all(stop);
    if (!digested) return digested;
  }
  if (!declared || description_.sha256 == description_.declared_sha256) return {};
  remove();
  return refused(400, "the content does not match its digest; the upload was removed");
}

// The description is complete before the rename, after which it alone says what was stored.
Result<StoredFile, Response> PendingUpload::store(std::optional<std::string> name, bool overwrite,
                                                  const file::StopFlag* stop) {
  ASSERT(state_ == State::pending && whole());
  if (name) description_.name = *std::move(name);
  // Until it is stored: of two uploads of one name at the same time, the second is refused.
  Result<NameReservation, Response> reservation = store_.reserve(description_.name);
  if (!reservation) return std::unexpected(std::move(reservation.error()));
  Result<void, Response> ready = check_digest(stop);
  if (ready) ready = write_description();
  if (!ready) return std::unexpected(std::move(ready.error()));
  // A lock may be newer than the upload.
  if (store_.directory_->is_locked(description_.name)) return refused_locked(description_.name);
  return take_name(overwrite);
}

Result<StoredFile, Response> PendingUpload::take_name(bool overwrite) {
  const std::string& name = description_.name;
  const int directory = store_.fd();
  const Result<UploadParent, int> parent =
      open_upload_parent(directory, name, store_.options_.folders);
  if (!parent) return std::unexpected(refuse_upload_error(parent.error(), name));
  const std::optional<FileFacts> replaced = look_at_file(parent->directory.get(), parent->name);
  const Result<void, int> committed = commit_file(
      bytes_.get(), directory, pending_bytes_name(id_), parent->directory.get(), parent->name,
      overwrite ? Existing::replace : Existing::refuse, store_.options_.durability);
  // It has its name even if the folder could not be written to the disk afterwards.
  if (!committed && look_at_file(directory, pending_bytes_name(id_))) {
    remove_made_folders(directory, parent->made);
    return std::unexpected(refuse_upload_error(committed.error(), name));
  }
  if (!committed && committed.error() == ENOENT) {  // somebody has removed the bytes
    remove_made_folders(directory, parent->made);
    remove();
    return refused(410, "the file of the upload was removed");
  }
  state_ = State::stored;
  store_.end(id_);
  ++store_.stored_;
  keep_claim(replaced ? replaced->size : 0);
  if (!committed) return std::unexpected(refuse_upload_error(committed.error(), name));
  return StoredFile{.name = name,
                    .size = offset_,
                    .sha256 = description_.sha256,
                    .etag = {},
                    .replaced = replaced.has_value()};
}

}  // namespace h2server::content
