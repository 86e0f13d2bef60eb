// What a request to an upload area asks for. Routes and quotas go by this one answer.
#pragma once

#include <cstdint>
#include <string_view>

#include "h2server/request.h"

namespace h2server::content {

// `draft`: draft-ietf-httpbis-resumable-upload.
enum class UploadProtocol : std::uint8_t { plain, tus, draft };

enum class UploadAct : std::uint8_t {
  none,    // sends no bytes of a file
  create,  // sends a file, or begins one
  append,
  remove,  // a resumable upload
};

struct UploadKind {
  UploadProtocol protocol = UploadProtocol::plain;
  UploadAct act = UploadAct::none;

  bool operator==(const UploadKind&) const noexcept = default;
};

// `resumable` is the path of resumable uploads. There, Tus-Resumable decides, and tus clients that
// can send only GET and POST say PATCH and DELETE by X-HTTP-Method-Override. Elsewhere only the
// draft resumes, by a PUT with Upload-Complete.
[[nodiscard]] UploadKind kind_of_upload(const Request& request, std::string_view resumable);

}  // namespace h2server::content
