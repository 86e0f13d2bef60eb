#include "content/uploads/area/upload_kind.h"

#include "content/storage/upload_path.h"

namespace h2server::content {

namespace {

bool speaks_draft(const Request& request) {
  return request.field("upload-complete") || request.field("upload-draft-interop-version");
}

// Of one resumable upload.
UploadAct act_on_upload(const Request& request) {
  const std::string_view overriding = request.field("x-http-method-override").value_or("");
  const bool overrides = request.method() == POST;
  if (request.method() == PATCH || (overrides && overriding == "PATCH")) return UploadAct::append;
  if (request.method() == DELETE || (overrides && overriding == "DELETE")) return UploadAct::remove;
  return UploadAct::none;
}

}  // namespace

UploadKind kind_of_upload(const Request& request, std::string_view resumable) {
  using Protocol = UploadProtocol;
  if (!is_at_or_below(request.path(), resumable)) {
    if (request.method() == PUT && request.field("upload-complete")) {
      return {Protocol::draft, UploadAct::create};
    }
    const bool creates = request.method() == PUT || request.method() == POST;
    return {Protocol::plain, creates ? UploadAct::create : UploadAct::none};
  }
  const Protocol protocol = request.field("tus-resumable") ? Protocol::tus : Protocol::draft;
  if (request.path() != resumable) return {protocol, act_on_upload(request)};
  const bool known = protocol == Protocol::tus || speaks_draft(request);
  const bool creates = request.method() == POST && known;
  return {protocol, creates ? UploadAct::create : UploadAct::none};
}

}  // namespace h2server::content
