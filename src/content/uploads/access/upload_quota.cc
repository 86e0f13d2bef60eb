#include "content/uploads/access/upload_quota.h"

#include "base/text/text.h"
#include "content/uploads/area/resumable_fields.h"
#include "content/uploads/area/upload_kind.h"

namespace h2server::content {

namespace {

using Bytes = std::optional<std::uint64_t>;

Bytes content_length_of(const Request& request) {
  const auto field = request.field("content-length");
  return field ? base::parse_decimal(*field) : std::nullopt;
}

Bytes created_by_tus(const Request& request) {
  // A final upload consists of others, which were counted.
  if (request.field("upload-concat").value_or("").starts_with("final")) return 0;
  const auto length = request.field("upload-length");
  return length ? base::parse_decimal(*length) : std::nullopt;
}

Bytes created_by_draft(const Request& request) {
  if (const auto length = request.field("upload-length")) return parse_item_integer(*length);
  const bool ends = parse_item_boolean(request.field("upload-complete").value_or("")) == true;
  return ends ? content_length_of(request) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> added_bytes(const Request& request, std::string_view resumable) {
  const UploadKind kind = kind_of_upload(request, resumable);
  if (kind.act != UploadAct::create) return 0;
  switch (kind.protocol) {
    case UploadProtocol::tus:
      return created_by_tus(request);
    case UploadProtocol::draft:
      return created_by_draft(request);
    case UploadProtocol::plain:
      break;
  }
  return content_length_of(request);
}

bool left_nothing(const Request& request, std::string_view resumable, const Response& response) {
  const int status = response.status();
  if (status < 400) return false;
  if (request.attached<MayHaveStored>() != nullptr) return false;
  if (kind_of_upload(request, resumable).protocol == UploadProtocol::plain) return true;
  return !response.find("location");  // with one, the upload is still there
}

}  // namespace h2server::content
