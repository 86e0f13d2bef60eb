// UploadBackend: where the files of requests go: a directory, or an object store. Any thread;
// handlers keep it alive. Resumable uploads have ResumableUploads instead.
#pragma once

#include <memory>

#include "content/uploads/area/upload_directory.h"
#include "content/uploads/receive/receive_body.h"
#include "content/uploads/receive/upload_intent.h"
#include "h2server/request.h"
#include "h2server/task.h"

namespace h2server::content {

class UploadBackend {
 public:
  UploadBackend() = default;
  UploadBackend(const UploadBackend&) = delete;
  UploadBackend& operator=(const UploadBackend&) = delete;
  virtual ~UploadBackend() = default;

  // Stores what the request has as its body: one file, or those of a form. A directory gets all of
  // them or none, a store one after the other.
  virtual Task<Stored> receive(Request& request, UploadIntent intent) = 0;
};
using UploadBackendRef = std::shared_ptr<UploadBackend>;

UploadBackendRef directory_backend(std::shared_ptr<UploadDirectory> directory);
// As the backend of that place does it.
Task<Stored> receive_into(Request& request, UploadPlace place, UploadIntent intent);

}  // namespace h2server::content
