// Receives the body of a request into a resumable upload: in batches, without making other
// connections wait for the disk or the store. What has arrived when the client leaves stays.
#pragma once

#include <optional>

#include "content/uploads/receive/expected_digest.h"
#include "content/uploads/resumable/resumable_uploads.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::content {

// Returns false if the body has another digest than expected; none of it was kept then. The error
// is the response to send, also if the body was cut off. With a digest, bytes of a body that is not
// whole are not kept. `upload` must outlive the task, and `expected` too.
Task<Result<bool, Response>> receive_upload_body(Request& request, ResumableUpload& upload,
                                                 std::optional<ExpectedDigest>& expected);

}  // namespace h2server::content
