#include "content/uploads/receive/upload_receiver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace h2server::content {

Result<void, Response> check_form_rest(std::uint64_t bytes, const UploadOptions& options) {
  const std::uint64_t most = std::max(options.file_bytes_max, UploadLimits::form_rest_min);
  if (options.file_bytes_max == 0 || bytes <= most) return {};
  return refused(413, fmt::format("the form has more than {} bytes beside its files", most));
}

UploadReceiver::UploadReceiver(FormHead head, UploadPlace place, const UploadOptions& options)
    : head_(std::move(head)),
      parser_(head_.boundary),
      place_(std::move(place)),
      options_(options),
      digests_(head_.digests) {}

Result<void, Response> UploadReceiver::begin() {
  if (claim_) return {};
  Result<void, Response> opened = place_.open();
  if (!opened) return opened;
  names_.emplace(place_.directory->fd(), 0644, TemporaryNames::Lock::in_first_file);
  claim_.emplace(place_.directory->space(), options_);
  return answer_verdict(claim_->expect(head_.body_bytes.value_or(0)));
}

Result<void, Response> UploadReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = begin();
  if (taken) taken = store(bytes);
  if (!taken) discard();
  return taken;
}

Result<void, Response> UploadReceiver::store(std::string_view bytes) {
  digests_.update(bytes);
  rest_ += bytes.size();
  parser_.feed(bytes);
  for (;;) {
    switch (parser_.next()) {
      case MultipartParser::Event::need_more:
        return check_form_rest(rest_, options_);
      case MultipartParser::Event::part_begin: {
        Result<void, Response> begun = begin_part();
        if (!begun) return begun;
        break;
      }
      case MultipartParser::Event::data: {
        if (!in_file_) break;  // other fields of a form are ignored
        Result<void, Response> written = write(parser_.data());
        if (!written) return written;
        break;
      }
      case MultipartParser::Event::part_end:
        if (!std::exchange(in_file_, false)) break;
        if (const Result<void, int> closed = files_.back().close(); !closed) {
          return refused_for(closed.error(), files_.back().name());
        }
        break;
      case MultipartParser::Event::finished:
        break;
      case MultipartParser::Event::malformed:
        return refused(400, fmt::format("malformed multipart/form-data: {}", parser_.problem()));
    }
  }
}

Result<void, Response> UploadReceiver::begin_part() {
  const PartHead& part = parser_.part();
  // An empty name: the form was sent without a file.
  if (!part.file_name || part.file_name->empty()) return {};
  const std::optional<std::string> path = safe_upload_path(*part.file_name, options_.folders);
  if (!path) return refused(400, "not a file name that can be stored");
  if (files_.size() == UploadLimits::files_max) return refused(413, "too many files");
  Result<void, Response> reserved = reserve(*path);
  if (!reserved) return reserved;
  const UploadFilePlan plan{.sha256 = options_.sha256, .durability = options_.durability};
  Result<UploadFile, int> file = UploadFile::open(*names_, *path, plan);
  if (!file) return refused_for(file.error(), *path);
  files_.push_back(*std::move(file));
  in_file_ = true;
  return {};
}

Result<void, Response> UploadReceiver::write(std::string_view bytes) {
  UploadFile& file = files_.back();
  rest_ -= bytes.size();
  if (options_.file_bytes_max != 0 && bytes.size() > options_.file_bytes_max - file.size()) {
    return refused(413, fmt::format("{} is larger than a file may be: {} bytes", file.name(),
                                    options_.file_bytes_max));
  }
  Result<void, Response> covered = answer_verdict(claim_->cover(bytes.size()));
  if (!covered) return covered;
  const Result<void, int> written = file.write(bytes);
  if (!written) return refused_for(written.error(), file.name());
  claim_->wrote(bytes.size());
  return {};
}

// Refuses a name before its content is sent in vain. The rename in commit() decides.
Result<void, Response> UploadReceiver::reserve(const std::string& path) {
  if (std::ranges::find(files_, path, &UploadFile::name) != files_.end()) {
    return refused(409, fmt::format("{} is sent twice", path));
  }
  if (place_.directory->is_locked(path)) return refused_locked(path);
  std::optional<NameReservation> reservation = place_.directory->names().reserve(path);
  if (!reservation) return refused(409, fmt::format("{} is being uploaded already", path));
  reservations_.push_back(*std::move(reservation));
  const Result<UploadParent, int> parent = open_upload_parent(names_->directory(), path, false);
  if (!parent && parent.error() == ENOENT) return {};
  if (!parent) return refused_for(parent.error(), path);
  struct stat status{};
  if (::fstatat(parent->directory.get(), parent->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return {};  // ENOENT; ENAMETOOLONG and others: the rename decides
  }
  if (S_ISDIR(status.st_mode)) return refused_for(EISDIR, path);
  if (!options_.overwrite) return refused_for(EEXIST, path);
  return {};
}

Stored UploadReceiver::commit() {
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

Result<void, Response> UploadReceiver::check_complete() {
  if (!parser_.finished()) return refused(400, "the body ends before its closing boundary");
  if (files_.empty()) return refused(400, "the form holds no file");
  if (!digests_.matches()) return std::unexpected(refuse_digest());
  for (const UploadFile& file : files_) {  // a lock may be newer than the form
    if (place_.directory->is_locked(file.name())) return refused_locked(file.name());
  }
  return {};
}

// Commits the first file last, since it carries the lock for all.
Stored UploadReceiver::rename_all() {
  std::vector<StoredFile> stored;
  const Existing existing = options_.overwrite ? Existing::replace : Existing::refuse;
  for (std::size_t i = files_.size(); i-- > 0;) {
    UploadFile& file = files_[i];
    const Result<void, int> committed = file.commit(existing);
    if (!committed) {
      while (++i < files_.size()) files_[i].revoke();
      return refused_for(committed.error(), file.name());
    }
    stored.push_back(file.stored());
  }
  if (options_.durability == Durability::file_and_directory) {
    const Result<void, int> synced = sync_folders(names_->directory(), files_);
    if (!synced) {
      for (UploadFile& file : files_) file.revoke();
      return refused_for(synced.error(), files_.front().name());
    }
  }
  std::ranges::reverse(stored);
  return stored;
}

void UploadReceiver::discard() noexcept {
  while (!files_.empty()) files_.pop_back();
  names_.reset();  // closes the lock's descriptor, the last one of the first file
  claim_.reset();
  reservations_.clear();
}

}  // namespace h2server::content
