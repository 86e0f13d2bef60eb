// Serves the objects of a store as static_files() serves the files of a folder: by GET and HEAD,
// with preconditions, ranges, index files, listings and a fallback. Small objects come from memory,
// others from a directory, if there is one for them, or from the store piece by piece.
#pragma once

#include <memory>

#include "content/cache/disk_cache.h"
#include "h2server/files.h"
#include "h2server/handler.h"
#include "h2server/store.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// As the function of h2server/store.h, but `types` take the place of those of the options. `disk`
// may be nowhere.
Handler store_files(std::shared_ptr<Store> store, const FilesOptions& options,
                    http::MediaTypesRef types, DiskPlace disk = {});

}  // namespace h2server::content
