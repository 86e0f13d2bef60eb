// Handlers of an upload directory: listing, download and upload.
#pragma once

#include <memory>
#include <string>

#include "content/upload_directory.h"
#include "file/folder.h"
#include "h2server/handler.h"
#include "h2server/uploads.h"
#include "http/media_type.h"

namespace h2server::content {

// For GET of `base`: the listing page. `types` are those of the folder.
Handler upload_listing(std::shared_ptr<const file::Folder> folder, std::string base,
                       http::MediaTypesRef types = std::make_shared<const http::MediaTypes>());
// For GET of "base/{file_name}". Uploaded files are untrusted, so the response keeps browsers from
// running them as part of this site.
Handler upload_download(std::shared_ptr<const file::Folder> folder);
// For POST of `base`: 201 with a JSON list, and with the Location of a single file. Requests from
// pages of other origins get 403.
Handler upload_receiver(std::shared_ptr<UploadDirectory> directory, std::string base,
                        UploadOptions options);

}  // namespace h2server::content
