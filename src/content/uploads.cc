#include "h2server/uploads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/log.h"
#include "content/file_name.h"
#include "content/json.h"
#include "content/multipart.h"
#include "content/upload_file.h"

namespace h2server {

namespace content {

namespace {

constexpr std::size_t files_max = 1000;  // of a request: each is a name that we keep until its end

Response refuse(int status, std::string_view text) {
  return Response(status, fmt::format("{}\n", text));
}

Response refuse_for(int error, std::string_view name) {
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
    default:  // EACCES, EROFS, EMFILE, EIO...: ours to mend
      base::log_error("upload of {} failed: {}", name, std::strerror(error));
      return refuse(500, "the upload can't be stored");
  }
}

// What the parts of one request become.
class Receiver {
 public:
  Receiver(std::string boundary, base::Fd directory, const UploadOptions& options)
      : parser_(std::move(boundary)), directory_(std::move(directory)), options_(options) {}

  // The error ends the request.
  Result<void, Response> take(std::string_view bytes);
  // The request is complete: gives the files their names.
  Result<std::vector<StoredFile>, Response> commit();

 private:
  Result<void, Response> begin_part();
  Result<void, Response> check_name(const std::string& name) const;

  MultipartParser parser_;
  const base::Fd directory_;
  const UploadOptions options_;
  std::vector<UploadFile> files_;
  bool in_file_ = false;  // the part at hand is the last of files_
};

Result<void, Response> Receiver::take(std::string_view bytes) {
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
        if (!in_file_) break;  // a form's other fields mean nothing here
        const Result<void, int> written = files_.back().write(parser_.data());
        if (!written) return std::unexpected(refuse_for(written.error(), files_.back().name()));
        break;
      }
      case MultipartParser::Event::part_end:
        if (!std::exchange(in_file_, false)) break;
        if (const Result<void, int> closed = files_.back().close(); !closed) {
          return std::unexpected(refuse_for(closed.error(), files_.back().name()));
        }
        break;
      case MultipartParser::Event::finished:
        break;
      case MultipartParser::Event::malformed:
        return std::unexpected(
            refuse(400, fmt::format("malformed multipart/form-data: {}", parser_.problem())));
    }
  }
}

Result<void, Response> Receiver::begin_part() {
  const PartHead& part = parser_.part();
  // An empty name is a form that was sent without a file chosen.
  if (!part.file_name || part.file_name->empty()) return {};
  const std::optional<std::string> name = safe_file_name(*part.file_name);
  if (!name) return std::unexpected(refuse(400, "not a file name that can be stored"));
  if (files_.size() == files_max) return std::unexpected(refuse(413, "too many files"));
  Result<void, Response> free = check_name(*name);
  if (!free) return free;
  Result<UploadFile, int> file = UploadFile::open(directory_.get(), *name);
  if (!file) return std::unexpected(refuse_for(file.error(), *name));
  files_.push_back(*std::move(file));
  in_file_ = true;
  return {};
}

// Before gigabytes are sent in vain; what decides is the rename.
Result<void, Response> Receiver::check_name(const std::string& name) const {
  if (std::ranges::find(files_, name, &UploadFile::name) != files_.end()) {
    return std::unexpected(refuse(409, fmt::format("{} is sent twice", name)));
  }
  struct stat status{};
  if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (S_ISDIR(status.st_mode)) return std::unexpected(refuse_for(EISDIR, name));
  if (!options_.overwrite) return std::unexpected(refuse_for(EEXIST, name));
  return {};
}

Result<std::vector<StoredFile>, Response> Receiver::commit() {
  if (!parser_.finished()) {
    return std::unexpected(refuse(400, "the body ends before its closing boundary"));
  }
  if (files_.empty()) return std::unexpected(refuse(400, "the form holds no file"));
  std::vector<StoredFile> stored;
  for (UploadFile& file : files_) {
    const Result<void, int> committed = file.commit(options_.overwrite);
    if (!committed) {
      for (std::size_t i = 0; i < stored.size(); ++i) files_[i].revoke();
      return std::unexpected(refuse_for(committed.error(), file.name()));
    }
    stored.push_back({file.name(), file.size()});
  }
  return stored;
}

}  // namespace

}  // namespace content

Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options) {
  const auto type = request.field("content-type");
  std::optional<std::string> boundary = content::multipart_boundary(type.value_or(""));
  if (!boundary) {
    co_return std::unexpected(
        content::refuse(415, "send the files as multipart/form-data with a boundary"));
  }
  base::Fd folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    base::log_error("can't open the upload directory {}: {}", directory, std::strerror(errno));
    co_return std::unexpected(content::refuse(500, "the upload can't be stored"));
  }
  content::Receiver receiver(*std::move(boundary), std::move(folder), options);
  for (;;) {
    const Result<std::string_view> piece = co_await request.read();
    if (!piece) co_return std::unexpected(content::refuse(400, piece.error().message()));
    if (piece->empty()) break;
    Result<void, Response> taken = receiver.take(*piece);
    if (!taken) co_return std::unexpected(std::move(taken.error()));
  }
  co_return receiver.commit();
}

Response created_response(const std::vector<StoredFile>& files) {
  std::string json = "[";
  for (const StoredFile& file : files) {
    if (json.size() > 1) json += ',';
    json += fmt::format("{{\"name\":{},\"size\":{}}}", content::json_string(file.name), file.size);
  }
  json += "]\n";
  return Response(201, std::move(json), "application/json");
}

}  // namespace h2server
