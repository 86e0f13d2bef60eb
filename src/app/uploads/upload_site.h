// The upload area of a site: pages and files at /files, resumable uploads at /uploads, and who may
// do what there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/client/stores.h"
#include "app/console.h"
#include "app/options/options.h"
#include "app/uploads/upload_hooks.h"
#include "app/uploads/upload_tokens.h"
#include "file/folder.h"
#include "h2server/result.h"
#include "h2server/routes.h"
#include "h2server/server.h"
#include "http/fields/media_type.h"

namespace h2server::app {

// What the areas of all sites share.
struct UploadParts {
  Server& server;    // runs what no request should wait for
  Console* console;  // may be null; otherwise it must outlive the server, as must `hooks`
  UploadHooks& hooks;
  const std::vector<ShownToken>& run_tokens;  // made before
  std::vector<ShownToken>& tokens;  // gets those that nobody knows yet, and those of the run
};

// Makes the site's upload directory if it is missing, and adds its routes. `root` is the site's;
// null if it has a store.
Result<void, Stop> add_uploads(const config::Site& site, const file::Folder* root,
                               const http::MediaTypesRef& types, const UploadParts& parts,
                               const Routes& routes);

// Returns where in its store a site keeps uploads.
std::string store_upload_place(const config::Site& site);

// The same for uploads into a store, below whose prefix all keys are names of files.
Result<void, Stop> add_store_uploads(const config::Site& site, OpenedStore opened,
                                     const http::MediaTypesRef& types, const UploadParts& parts,
                                     const Routes& routes);

}  // namespace h2server::app
