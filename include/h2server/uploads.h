// Takes files from browsers: multipart/form-data, streamed to disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server {

struct UploadOptions {
  bool overwrite = false;  // an existing file of that name is replaced; else the answer is 409
};

struct StoredFile {
  std::string name;        // what became of the client's name for it
  std::uint64_t size = 0;  // bytes
};

// Stores every file of the request (RFC 7578) in `directory`, which exists: all of them or none. A
// file is written under a temporary name, h2_tmp_<thread>_<count>, and renamed when the request is
// complete. The error is the response to give: 400, 409, 413, 415, 500 or 507.
Task<Result<std::vector<StoredFile>, Response>> store_uploads(Request& request,
                                                              std::string directory,
                                                              UploadOptions options = {});

// 201 with a JSON list of the names and sizes.
Response created_response(const std::vector<StoredFile>& files);

}  // namespace h2server
