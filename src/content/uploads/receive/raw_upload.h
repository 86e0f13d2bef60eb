// PUT of a file: the body is its content (RFC 9110, 9.3.4).
#pragma once

#include "content/uploads/receive/upload_backend.h"
#include "h2server/handler.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct PutOfFiles {
  UploadOptions options = {};
  bool locks_are_checked = false;  // by the caller, who knows which the request names
};

// For PUT of "/files/{path...}" or the like: 201 with the ETag and, unless it is not computed, the
// Repr-Digest; 204 if a file was replaced. Evaluates the preconditions of the request; if
// `overwrite` is off, or the request may not manage files, a file is replaced only with If-Match. A
// path that would be stored under another name is refused. Requests from pages of other origins get
// 403.
//
// In a store, clients that know no preconditions are not kept from uploading the same name at the
// same time: the first one to end wins.
Handler raw_upload(UploadBackendRef backend, PutOfFiles options);

}  // namespace h2server::content
