// The page of an upload directory: its files and a form to add to them.
#pragma once

#include <string>

#include "h2server/result.h"

namespace h2server::content {

// An HTML page of the regular files in `directory` (an open descriptor), by name, without those
// that are still being received and without what is too much for a page. `base` is the path below
// which the files are served and to which the form is sent, such as "/files". The error is an errno
// value. Waits for the disk.
Result<std::string, int> listing_page(int directory, const std::string& base);

}  // namespace h2server::content
