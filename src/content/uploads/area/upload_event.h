// What is reported about a file that was uploaded, once it has its name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "h2server/middleware.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct UploadEvent {
  std::string path = {};    // where it is stored, absolute
  std::string name = {};    // below the upload directory
  std::uint64_t size = 0;   // bytes
  std::string sha256 = {};  // 64 hexadecimal digits in lower case; empty if it was not computed
  std::string client = {};  // the address of who sent it; empty if it is not known
};

// Called by all workers concurrently, so it must not wait. May be empty.
using UploadSink = std::function<void(const UploadEvent&)>;

// For the routes that store files in `directory`: report_stored() of their requests calls the sink.
[[nodiscard]] Middleware report_uploads(const std::string& directory, UploadSink sink);

// Reports a file that this request has stored. Does nothing without report_uploads().
void report_stored(const Request& request, const StoredFile& file);

}  // namespace h2server::content
