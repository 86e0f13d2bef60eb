// The page of an upload directory: its files and an upload form.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::content {

// Returns an HTML page of the regular files in `directory` (an open descriptor), sorted by name,
// without files that are still being received. Omits files beyond the size limits of a page. `base`
// is the path below which the files are served and to which the form is sent, such as "/files". The
// error is an errno value. May block on the disk.
Result<std::string, int> listing_page(int directory, const std::string& base);

}  // namespace h2server::content
