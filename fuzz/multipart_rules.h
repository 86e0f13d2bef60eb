// Invariants of every multipart/form-data body in any pieces: the parser agrees with the reference,
// and the heads of its parts are valid.
#pragma once

#include <string_view>

#include "content/uploads/receive/multipart.h"
#include "pieces.h"

namespace h2server::fuzz {

// `boundary` is a result of multipart_boundary(). Delivers the body whole, byte by byte, and in the
// pieces of `cuts`.
void check_multipart(std::string_view boundary, std::string_view body, Cuts cuts,
                     content::MultipartLimits limits);

}  // namespace h2server::fuzz
