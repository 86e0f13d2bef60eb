#include "content/storage/upload_refusals.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace h2server::content {

Response refuse_upload(int status, std::string_view text) {
  return Response(status, fmt::format("{}\n", text));
}

Response refuse_upload_error(int error, std::string_view name) {
  switch (error) {
    case EEXIST:
      return refuse_upload(409, fmt::format("{} exists already", name));
    case EISDIR:
      return refuse_upload(409, fmt::format("{} is a directory", name));
    case ENOTDIR:
    case ELOOP:
      return refuse_upload(409, fmt::format("a folder of {} is a file or a link", name));
    case ENAMETOOLONG:
      return refuse_upload(400, "the name is longer than this file system can hold");
    case EMFILE:
    case ENFILE: {
      // Without the name: clients can make it often, and equal lines are counted.
      base::log_error("an upload failed: {}", std::strerror(error));
      Response response = refuse_upload(503, "too many files are open");
      response.add("Retry-After", "1");
      return response;
    }
    case ENOSPC:
    case EDQUOT:
      return refuse_upload(507, "no space is left for the upload");
    case EFBIG:
      return refuse_upload(413, "the file is larger than this file system can hold");
    default:  // EACCES, EROFS, EIO...: the server's fault
      base::log_error("upload of {} failed: {}", name, std::strerror(error));
      return refuse_upload(500, "the upload can't be stored");
  }
}

Response refuse_body(const Error& error) {
  if (error.code == ETIMEDOUT) return refuse_upload(408, "the body came too slowly");
  return refuse_upload(400, error.message());  // ECONNRESET, EPROTO, ECANCELED
}

std::unexpected<Response> refused(int status, std::string_view text) {
  return std::unexpected(refuse_upload(status, text));
}

std::unexpected<Response> refused_for(int error, std::string_view name) {
  return std::unexpected(refuse_upload_error(error, name));
}

std::unexpected<Response> refused_locked(std::string_view name) {
  return refused(423, fmt::format("{} is locked", name));
}

std::unexpected<Response> refused_missing() { return refused(404, "there is no such upload"); }

Result<void, Response> answer_verdict(UploadSpace::Verdict verdict) {
  switch (verdict) {
    case UploadSpace::Verdict::granted:
      break;
    case UploadSpace::Verdict::directory_full:
      return refused(413, "the upload is more than the directory may still take");
    case UploadSpace::Verdict::disk_full:
      return refused(507, "no space is left for the upload");
  }
  return {};
}

}  // namespace h2server::content
