// What holds for the names that parts of multipart/form-data claim, and for the file names that are
// made of them.
#pragma once

#include <string_view>

#include "content/multipart.h"

namespace h2server::fuzz {

// Whatever a client claims: none, or a name that is safe to open in a folder.
void require_safe_file_name(std::string_view claimed);

// The head, written again, is read to the same.
void require_reprints(const content::PartHead& head);

}  // namespace h2server::fuzz
