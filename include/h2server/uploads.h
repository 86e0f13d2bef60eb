// File uploads, streamed to disk: multipart/form-data, as browsers send it, and bodies of PUT.
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

// What is written to the disk itself (fsync) before the response is sent.
enum class Durability : std::uint8_t {
  none,                // the system writes it when it likes: a power failure may lose the upload
  file,                // the content
  file_and_directory,  // also its name
};

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
  Durability durability = Durability::none;
  // Computes the SHA-256 of each file while it is received, about 0.5 ns per byte where the
  // processor has instructions for it.
  bool sha256 = true;
  // Keeps the folders of a client's file name, as browsers send for a chosen folder, and makes
  // them. Otherwise only the last part of the name counts.
  bool folders = false;
};

struct StoredFile {
  std::string name;         // derived from the client's file name; a path if it has folders
  std::uint64_t size = 0;   // bytes
  std::string sha256 = {};  // 64 hexadecimal digits in lower case; empty if it was not computed
  std::string etag = {};    // as downloads have it: strong, with its quotes
  bool replaced = false;    // a file of that name existed
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

// Stores the body of the request, as PUT sends it, in `directory` under `path`, which is made safe:
// it is below the directory, without hidden names, and without folders unless the options have
// them. As above, the file has a temporary name until it is complete.
//
// Evaluates If-Match, If-None-Match and If-Unmodified-Since (412). With If-Match, a file is
// replaced even without `overwrite`. Compares the content with Content-Digest and Repr-Digest (RFC
// 9530). Of two uploads of one path at the same time, the second gets 409. The error is the
// response to send, which may also be 400, 413, 415, 500, 503 or 507.
Task<Result<StoredFile, Response>> store_body(Request& request, std::string directory,
                                              std::string path, UploadOptions options = {});

// Returns true if a page of another origin made the browser send this request, according to
// Sec-Fetch-Site, or to Origin if the browser omits that. Host or :authority names the request's
// own origin.
bool is_cross_site(const Request& request);

// Returns 201 with a JSON list of the names, the sizes and the SHA-256 digests.
Response created_response(const std::vector<StoredFile>& files);

}  // namespace h2server
#pragma GCC visibility pop
