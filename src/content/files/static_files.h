// Serves a folder: files, and an index file or a listing for directories.
#pragma once

#include <memory>
#include <string_view>

#include "file/folder.h"
#include "h2server/files.h"
#include "h2server/handler.h"
#include "h2server/response.h"
#include "http/fields/media_type.h"

namespace h2server::content {

// Returns the types of the options and the built-in ones. Throws std::invalid_argument, with the
// reason, for one that is malformed.
http::MediaTypesRef media_types(const FilesOptions& options);

// How the folder of such a handler is to be opened.
file::FolderOptions folder_options(
    const FilesOptions& options,
    http::MediaTypesRef types = std::make_shared<const http::MediaTypes>());

// For a pattern with the rest parameter "path", such as "/{path...}". `types` are those of the
// folder; those of the options are not read.
Handler static_files(std::shared_ptr<const file::Folder> folder, const FilesOptions& options = {},
                     http::MediaTypesRef types = std::make_shared<const http::MediaTypes>());

// Returns the response if there is no file to serve: 403, 404 or 503.
Response refusal(file::Lookup::Kind kind);

}  // namespace h2server::content
