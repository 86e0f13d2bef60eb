// Takes files from browsers: multipart/form-data, streamed to disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server {

struct UploadOptions {
  bool overwrite = false;  // an existing file of that name is replaced; else the answer is 409
  // Bytes of a file, so that nobody takes all there is; 0: no limit. Else the answer is 413.
  std::uint64_t file_bytes_max = 0;
  // Bytes of all files in the directory, those of earlier runs and of uploads under way among them;
  // 0: no limit. Else the answer is 413. They are counted when the first upload comes, and anew
  // when there seems to be no room, at most once a second.
  std::uint64_t directory_bytes_max = 0;
  // Bytes of the file system that stay free, for logs and for whoever is to clean up; else the
  // answer is 507. Unset: 1 GiB, or a twentieth of the file system where that is less. 0: none.
  std::optional<std::uint64_t> reserve_bytes = {};
};

struct StoredFile {
  std::string name;        // what became of the client's name for it
  std::uint64_t size = 0;  // bytes
};

// Stores every file of the request (RFC 7578) in `directory`, which exists: all of them or none. A
// file is written under a temporary name, h2_tmp_<process>_<request>_<number>, and renamed when the
// request is complete; what a killed process has left is removed when the directory is first used.
// Where Content-Length says that there is no room, a client that expects 100 (Continue) sends
// nothing. The error is the response to give: 400, 409, 413, 415, 500, 503 or 507.
//
// The path is looked up for each request, so a directory that was replaced is no longer written to.
// Uploads to one directory count together, in one process. Who serves what strangers have uploaded
// adds "Content-Security-Policy: sandbox" and "X-Content-Type-Options: nosniff" to it, and asks
// is_cross_site() before storing anything.
Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options = {});

// Returns true if a page of another origin made its reader's browser send this request, as
// Sec-Fetch-Site says, or Origin where the browser leaves that out. The request's own origin is
// what Host or :authority names.
bool is_cross_site(const Request& request);

// 201 with a JSON list of the names and sizes.
Response created_response(const std::vector<StoredFile>& files);

}  // namespace h2server
