// File uploads from browsers: multipart/form-data, streamed to disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"

#pragma GCC visibility push(default)
namespace h2server {

struct UploadOptions {
  bool overwrite = false;  // replaces an existing file of that name; otherwise 409
  // Maximum bytes of one file; 0: no limit. Beyond it the response is 413.
  std::uint64_t file_bytes_max = 0;
  // Maximum bytes of all files in the directory, including those of earlier runs and of uploads in
  // flight; 0: no limit. Beyond it the response is 413. Files are counted at the first upload, and
  // again when there seems to be no room, at most once a second.
  std::uint64_t directory_bytes_max = 0;
  // Bytes of the file system to keep free, for logs and for cleaning up; otherwise the response is
  // 507. Unset: 1 GiB, or a twentieth of the file system if that is less. 0: none.
  std::optional<std::uint64_t> reserve_bytes = {};
};

struct StoredFile {
  std::string name;        // derived from the client's file name
  std::uint64_t size = 0;  // bytes
};

// Stores all files of the request (RFC 7578) in `directory`, which must exist, or none of them. A
// file is written under a temporary name, h2_tmp_<process>_<request>_<number>, and renamed when the
// request is complete. Files left by a killed process are removed when the directory is first used.
// If Content-Length shows that there is no room, a client that expects 100 (Continue) sends no
// body. The error is the response to send: 400, 409, 413, 415, 500, 503 or 507.
//
// The path is looked up for each request, so a replaced directory is no longer written to. Uploads
// to one directory count together, within one process. A handler that serves uploads of strangers
// should add "Content-Security-Policy: sandbox" and "X-Content-Type-Options: nosniff". A handler
// that stores them should check is_cross_site() first.
Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options = {});

// Returns true if a page of another origin made the browser send this request, according to
// Sec-Fetch-Site, or to Origin if the browser omits that. Host or :authority names the request's
// own origin.
bool is_cross_site(const Request& request);

// Returns 201 with a JSON list of the names and sizes.
Response created_response(const std::vector<StoredFile>& files);

}  // namespace h2server
#pragma GCC visibility pop
