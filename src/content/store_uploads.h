// Reads a request with files and has them written, where that holds up nobody: what has arrived is
// gathered and handed over, and the client is not read from meanwhile, so that a slow disk slows it
// down (and, over HTTP/2, its window closes).
#pragma once

#include "content/upload_receiver.h"
#include "h2server/request.h"
#include "h2server/task.h"

namespace h2server::content {

// As the public function of that name. An upload that breaks off is removed before this ends, also
// when the server stops.
Task<Stored> store_uploads(Request& request, UploadPlace place, UploadOptions options);

}  // namespace h2server::content
