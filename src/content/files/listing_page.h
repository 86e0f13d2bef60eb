// The page of a folder, and its list for programs (JSON). Both are made while they are sent.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "content/files/listings.h"
#include "content/files/upload_panel.h"
#include "h2server/file.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "http/fields/media_type.h"

namespace h2server::content {

struct ListingPage {
  // Where the folder lies below the root, empty or ending in a slash: the breadcrumbs.
  std::string path = {};
  std::string root_name = "Home";
  // What stands before the names in links: empty if the page's own path ends in a slash.
  std::string link_prefix = {};
  bool archives = false;         // offers the folder as an archive: ?archive=zip or tar
  UploadPanel uploads = {};      // none by default
  std::string readme_name = {};  // shown below the entries, as plain text; empty: none
  FileRef readme = nullptr;
  http::MediaTypesRef types = std::make_shared<const http::MediaTypes>();  // of the icons
};

// Returns JSON if the client prefers that to HTML. `?sort=name|size|modified`, with "-" in front
// for the reverse order, and `?filter=TEXT` select and sort both.
Response listing_response(const Request& request, FolderEntriesRef entries, ListingPage page);

// Returns the name of the entry to show as readme, or null.
const FolderEntry* find_readme(const FolderEntries& entries);

}  // namespace h2server::content
