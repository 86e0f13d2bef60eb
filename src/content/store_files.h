// Serves the objects of a store as static_files() serves the files of a folder: by GET and HEAD,
// with preconditions, ranges, index files, listings and a fallback. Small objects come from memory,
// others from the store piece by piece.
#pragma once

#include <memory>

#include "h2server/files.h"
#include "h2server/handler.h"
#include "h2server/store.h"
#include "http/media_type.h"

namespace h2server::content {

// As the function of h2server/store.h, but `types` take the place of those of the options.
Handler store_files(std::shared_ptr<Store> store, const FilesOptions& options,
                    http::MediaTypesRef types);

}  // namespace h2server::content
