// What holds for every body of multipart/form-data, in whatever pieces it comes: the parser agrees
// with the reference, and what it says of parts is sound.
#pragma once

#include <string_view>

#include "content/multipart.h"
#include "pieces.h"

namespace h2server::fuzz {

// `boundary` as multipart_boundary() returns it. Delivers the body whole, byte by byte, and by
// `cuts`.
void check_multipart(std::string_view boundary, std::string_view body, Cuts cuts,
                     content::MultipartLimits limits);

}  // namespace h2server::fuzz
