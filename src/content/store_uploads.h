// Reads an upload request and writes its files without making other connections wait for the disk.
// Received bytes are gathered and handed over in batches. The client is not read from meanwhile, so
// a slow disk causes backpressure (over HTTP/2 the stream's window closes).
#pragma once

#include "content/upload_receiver.h"
#include "h2server/request.h"
#include "h2server/task.h"

namespace h2server::content {

// Same as the public function of that name. Removes an incomplete upload before it returns, also
// when the server stops.
Task<Stored> store_uploads(Request& request, UploadPlace place, UploadOptions options);

}  // namespace h2server::content
