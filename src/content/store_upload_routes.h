// Handlers of an upload area whose files are in a store: its pages and downloads. What receives
// uploads is in upload_routes.h and raw_upload.h.
#pragma once

#include "content/store_uploads.h"
#include "content/upload_page.h"
#include "h2server/handler.h"

namespace h2server::content {

// For GET of `base` and of "base/{path...}": pages of folders, and the files, which browsers do not
// run as part of this site.
Handler store_upload_pages(StoreUploadsRef uploads, UploadPages pages);

}  // namespace h2server::content
