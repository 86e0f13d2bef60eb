// ResumableUploads in a directory: PendingUploads, whose calls wait for the disk, on threads that
// may wait.
#pragma once

#include <memory>

#include "content/uploads/resumable/pending_uploads.h"
#include "content/uploads/resumable/resumable_uploads.h"

namespace h2server::content {

std::shared_ptr<ResumableUploads> local_uploads(std::shared_ptr<PendingUploads> uploads);

}  // namespace h2server::content
