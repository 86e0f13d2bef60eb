// Handlers of an upload directory: pages, downloads and forms.
#pragma once

#include <memory>
#include <string>

#include "content/uploads/receive/upload_backend.h"
#include "content/uploads/upload_page.h"
#include "file/folder.h"
#include "h2server/handler.h"
#include "h2server/uploads.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// The pages and files of an upload directory, shared by its handlers.
class UploadSite;
std::shared_ptr<UploadSite> make_upload_site(std::shared_ptr<const file::Folder> folder,
                                             UploadPages pages);

// For GET of `base`: the listing page, its list as JSON, and with "?events" its changes.
Handler upload_listing(std::shared_ptr<UploadSite> site);
// For GET of "base/{path...}", or "base/{file_name}" without folders. Uploaded files are untrusted,
// so the response keeps browsers from running them as part of this site.
Handler upload_download(std::shared_ptr<UploadSite> site);
// For POST of `base`: 201 with a JSON list, and with the Location of a single file. If `overwrite`
// is off, or the request may not manage files, nothing is replaced. Requests from pages of other
// origins get 403.
Handler upload_receiver(UploadBackendRef backend, std::string base, UploadOptions options);

// The same for a directory with default pages.
Handler upload_listing(std::shared_ptr<const file::Folder> folder, std::string base,
                       http::MediaTypesRef types = std::make_shared<const http::MediaTypes>());
Handler upload_download(std::shared_ptr<const file::Folder> folder);

}  // namespace h2server::content
