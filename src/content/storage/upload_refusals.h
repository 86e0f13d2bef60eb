// Responses to uploads that can't be stored.
#pragma once

#include <expected>
#include <string_view>

#include "content/storage/upload_space.h"
#include "h2server/response.h"
#include "h2server/result.h"

namespace h2server::content {

// Returns a plain-text error response.
Response refuse_upload(int status, std::string_view text);
// Returns the response to an errno value: 409, 413 or 507, and 503 or 500 for what is the server's
// fault, which is logged. `name` is the file's.
Response refuse_upload_error(int error, std::string_view name);

// Returns the response to a body that could not be read to its end: 408 if it came too slowly, else
// 400.
Response refuse_body(const Error& error);

// Return the same responses as errors.
std::unexpected<Response> refused(int status, std::string_view text);
std::unexpected<Response> refused_for(int error, std::string_view name);
// Returns 423 for a file that a lock of WebDAV protects (RFC 4918, 11.3).
std::unexpected<Response> refused_locked(std::string_view name);
// Returns 404 for an upload that does not exist.
std::unexpected<Response> refused_missing();

// The error is 413 or 507.
Result<void, Response> answer_verdict(UploadSpace::Verdict verdict);

}  // namespace h2server::content
