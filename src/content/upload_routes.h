// The routes of an upload directory: its page, its files, and the way in.
#pragma once

#include <memory>
#include <string>

#include "content/folder.h"
#include "content/upload_directory.h"
#include "h2server/handler.h"
#include "h2server/uploads.h"

namespace h2server::content {

// For GET of the path `base`: the page.
Handler upload_listing(std::shared_ptr<const Folder> folder, std::string base);
// For GET of "base/{file_name}": what others have uploaded is not trusted to run in the reader's
// browser as part of this site.
Handler upload_download(std::shared_ptr<const Folder> folder);
// For POST of `base`: 201 with a JSON list. Pages of other origins get 403.
Handler upload_receiver(std::shared_ptr<UploadDirectory> directory, UploadOptions options);

}  // namespace h2server::content
