// Invariants of the names that parts of multipart/form-data claim, and of resulting file names.
#pragma once

#include <string_view>

#include "content/uploads/receive/multipart.h"

namespace h2server::fuzz {

// Aborts unless safe_file_name() rejects the name or makes it safe to open in a folder.
void require_safe_file_name(std::string_view claimed);

// Aborts unless the head, written out again, parses to the same result.
void require_reprints(const content::PartHead& head);

}  // namespace h2server::fuzz
