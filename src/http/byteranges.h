// The response to a request for several ranges (RFC 9110, 14.6 and 15.3.7.2).
#pragma once

#include <span>

#include "h2server/file.h"
#include "h2server/response.h"
#include "http/fields/ranges.h"

namespace h2server::http {

// 206 with multipart/byteranges. `ranges` are not empty and lie inside the file. The boundary is
// random, so that nobody can put it into a file.
Response byteranges_response(FileRef file, std::span<const ByteRange> ranges);

}  // namespace h2server::http
