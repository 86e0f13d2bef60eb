// Serves a folder: files, and index.html for directories.
#pragma once

#include <memory>

#include "content/folder.h"
#include "h2server/handler.h"

namespace h2server::content {

// For a pattern with the rest parameter "path", such as "/{path...}".
Handler static_files(std::shared_ptr<const Folder> folder);

}  // namespace h2server::content
