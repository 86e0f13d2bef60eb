#include "content/upload_receiver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "content/file_name.h"

namespace h2server::content {

namespace {

std::unexpected<Response> refuse(int status, std::string_view text) {
  return std::unexpected(refuse_upload(status, text));
}

std::unexpected<Response> refuse_for(int error, std::string_view name) {
  switch (error) {
    case EEXIST:
      return refuse(409, fmt::format("{} exists already", name));
    case EISDIR:
    case ENOTDIR:
      return refuse(409, fmt::format("{} is a directory", name));
    case ENOSPC:
    case EDQUOT:
      return refuse(507, "no space is left for the upload");
    case EFBIG:
      return refuse(413, "the file is larger than this file system can hold");
    default:  // EACCES, EROFS, EMFILE, EIO...: the server's fault
      base::log_error("upload of {} failed: {}", name, std::strerror(error));
      return refuse(500, "the upload can't be stored");
  }
}

Result<void, Response> answer_for(UploadSpace::Verdict verdict) {
  switch (verdict) {
    case UploadSpace::Verdict::granted:
      break;
    case UploadSpace::Verdict::directory_full:
      return refuse(413, "the upload is more than the directory may still take");
    case UploadSpace::Verdict::disk_full:
      return refuse(507, "no space is left for the upload");
  }
  return {};
}

}  // namespace

Response refuse_upload(int status, std::string_view text) {
  return Response(status, fmt::format("{}\n", text));
}

UploadReceiver::UploadReceiver(std::string boundary, UploadPlace place,
                               const UploadOptions& options,
                               std::optional<std::uint64_t> body_bytes)
    : parser_(std::move(boundary)),
      place_(std::move(place)),
      options_(options),
      body_bytes_(body_bytes) {}

Result<void, Response> UploadReceiver::begin() {
  if (claim_) return {};
  Result<void, Response> opened = open_directory();
  if (!opened) return opened;
  names_.emplace(place_.directory->fd());
  claim_.emplace(place_.directory->space(), options_);
  return answer_for(claim_->expect(body_bytes_.value_or(0)));
}

Result<void, Response> UploadReceiver::open_directory() {
  if (place_.directory != nullptr) return {};
  Result<std::shared_ptr<UploadDirectory>, int> found = UploadDirectory::find(place_.path);
  if (found) {
    place_.directory = *std::move(found);
    return {};
  }
  base::log_error("can't open the upload directory {}: {}", place_.path,
                  std::strerror(found.error()));
  return refuse(500, "the upload can't be stored");
}

Result<void, Response> UploadReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = begin();
  if (taken) taken = store(bytes);
  if (!taken) discard();
  return taken;
}

Result<void, Response> UploadReceiver::store(std::string_view bytes) {
  parser_.feed(bytes);
  for (;;) {
    switch (parser_.next()) {
      case MultipartParser::Event::need_more:
        return {};
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
          return refuse_for(closed.error(), files_.back().name());
        }
        break;
      case MultipartParser::Event::finished:
        break;
      case MultipartParser::Event::malformed:
        return refuse(400, fmt::format("malformed multipart/form-data: {}", parser_.problem()));
    }
  }
}

Result<void, Response> UploadReceiver::begin_part() {
  const PartHead& part = parser_.part();
  // An empty name: the form was sent without a file.
  if (!part.file_name || part.file_name->empty()) return {};
  const std::optional<std::string> name = safe_file_name(*part.file_name);
  if (!name) return refuse(400, "not a file name that can be stored");
  if (files_.size() == UploadLimits::files_max) return refuse(413, "too many files");
  Result<void, Response> free = check_name(*name);
  if (!free) return free;
  Result<UploadFile, int> file = UploadFile::open(*names_, *name);
  if (!file) return refuse_for(file.error(), *name);
  files_.push_back(*std::move(file));
  in_file_ = true;
  return {};
}

Result<void, Response> UploadReceiver::write(std::string_view bytes) {
  UploadFile& file = files_.back();
  if (options_.file_bytes_max != 0 && bytes.size() > options_.file_bytes_max - file.size()) {
    return refuse(413, fmt::format("{} is larger than a file may be: {} bytes", file.name(),
                                   options_.file_bytes_max));
  }
  Result<void, Response> covered = answer_for(claim_->cover(bytes.size()));
  if (!covered) return covered;
  const Result<void, int> written = file.write(bytes);
  if (!written) return refuse_for(written.error(), file.name());
  claim_->wrote(bytes.size());
  return {};
}

// Refuses a name before its content is sent in vain. The rename in commit() decides.
Result<void, Response> UploadReceiver::check_name(const std::string& name) const {
  if (std::ranges::find(files_, name, &UploadFile::name) != files_.end()) {
    return refuse(409, fmt::format("{} is sent twice", name));
  }
  struct stat status{};
  if (::fstatat(names_->directory(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (S_ISDIR(status.st_mode)) return refuse_for(EISDIR, name);
  if (!options_.overwrite) return refuse_for(EEXIST, name);
  return {};
}

Stored UploadReceiver::commit() {
  Stored stored = refuse(400, "the body ends before its closing boundary");
  if (parser_.finished()) stored = rename_all();
  if (!stored) {
    discard();
    return stored;
  }
  std::uint64_t replaced = 0;
  for (const UploadFile& file : files_) replaced += file.replaced_size();
  claim_->keep(replaced);
  files_.clear();  // removes the replaced files
  names_.reset();
  return stored;
}

// Commits the first file last, since it carries the lock for all.
Stored UploadReceiver::rename_all() {
  if (files_.empty()) return refuse(400, "the form holds no file");
  std::vector<StoredFile> stored;
  for (std::size_t i = files_.size(); i-- > 0;) {
    UploadFile& file = files_[i];
    const Result<void, int> committed = file.commit(options_.overwrite);
    if (!committed) {
      while (++i < files_.size()) files_[i].revoke();
      return refuse_for(committed.error(), file.name());
    }
    stored.push_back({file.name(), file.size()});
  }
  std::ranges::reverse(stored);
  return stored;
}

void UploadReceiver::discard() noexcept {
  while (!files_.empty()) files_.pop_back();
  names_.reset();  // closes the lock's descriptor, the last one of the first file
  claim_.reset();
}

}  // namespace h2server::content
