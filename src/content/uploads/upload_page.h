// What the pages of an upload area offer, and how its files are shown. Pure functions, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "content/files/listing_page.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/uploads.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// What the pages of an upload directory offer. The routes for it are the caller's.
struct UploadPages {
  std::string base = "/files";    // the path of the page of the top folder
  std::string resumable_at = {};  // takes POST of resumable uploads (tus 1.0.0); empty: none
  bool uploads = true;            // POST of forms at `base`
  bool folders = false;           // folders below the directory have pages; MKCOL makes one
  bool manage = false;            // DELETE and MOVE below `base`
  bool events = true;             // "?events" of a page streams its changes
  bool list = true;               // false: a drop box
  UploadOptions options = {};     // tell whether files are replaced, and how much room there is
  http::MediaTypesRef types = std::make_shared<const http::MediaTypes>();  // of the icons
};

// The page of the folder `path`, empty or ending in a slash, without its entries. It offers what
// the request's token allows.
ListingPage upload_page(const Request& request, const UploadPages& pages, std::string path);

// Returns 301 to the page of a folder.
Response redirect_to_folder(const Request& request, std::string_view base, std::string_view path);

// Returns true if a browser that shows a file of this type may run scripts. `type` begins in lower
// case, see http::normal_media_type().
bool may_have_scripts(std::string_view type);
// Uploaded files are untrusted: keeps browsers from running them as part of this site.
void make_harmless(Response& response, bool sandboxed);

}  // namespace h2server::content
