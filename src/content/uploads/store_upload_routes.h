// Handlers of an upload area whose files are in a store: its pages and downloads. What receives
// uploads is in upload_routes.h and raw_upload.h.
#pragma once

#include <memory>

#include "content/cache/disk_cache.h"
#include "content/uploads/stored/store_uploads.h"
#include "content/uploads/upload_page.h"
#include "h2server/handler.h"

namespace h2server::content {

// For GET of `base` and of "base/{path...}": pages of folders, and the files, which browsers do not
// run as part of this site. `disk` is as for store_files().
Handler store_upload_pages(StoreUploadsRef uploads, UploadPages pages, DiskPlace disk = {});

}  // namespace h2server::content
