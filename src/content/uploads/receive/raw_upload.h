// PUT of a file: the body is its content (RFC 9110, 9.3.4).
#pragma once

#include <memory>
#include <string>

#include "content/uploads/receive/receive_body.h"
#include "content/uploads/stored/store_uploads.h"
#include "content/uploads/upload_directory.h"
#include "h2server/handler.h"
#include "h2server/request.h"
#include "h2server/uploads.h"

namespace h2server::content {

// Stores the body under `path`, a safe path. Evaluates the preconditions of the request. If
// `overwrite` is off, a file is replaced only with If-Match. On success there is one file.
Task<Stored> store_body(Request& request, UploadPlace place, std::string path,
                        UploadOptions options);
Task<Stored> store_body(Request& request, StoreUploadsRef uploads, std::string path,
                        UploadOptions options);

// For PUT of "base/{path...}": 201 with the ETag and, unless it is not computed, the Repr-Digest;
// 204 if a file was replaced. A path that would be stored under another name is refused. Requests
// from pages of other origins get 403, and what is locked 423 unless the caller has checked that.
Handler raw_upload(std::shared_ptr<UploadDirectory> directory, std::string base,
                   UploadOptions options, bool locks_are_checked = false);
// The same for a store, where clients that know no preconditions are not kept from uploading the
// same name at the same time: the first one to end wins.
Handler raw_upload(StoreUploadsRef uploads, std::string base, UploadOptions options);

}  // namespace h2server::content
