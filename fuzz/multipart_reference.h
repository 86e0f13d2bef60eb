// Reference parser of multipart/form-data (RFC 2046, 5.1.1). Works on a buffer that holds the whole
// body. The fuzzers compare the parser with it. Does not parse heads of parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/receive/multipart.h"

namespace h2server::fuzz {

struct MultipartReference {
  enum class End {
    finished,         // by the closing delimiter
    malformed,        // a delimiter is followed by something other than a line end
    head_incomplete,  // or longer than the limit, or with an LF without a CR before it
    content_incomplete,
    delimiter_incomplete,
  };
  struct Part {
    std::string content;
    bool ended = false;
  };

  std::vector<Part> parts;
  End end = End::content_incomplete;
};

MultipartReference split_multipart(std::string_view boundary, std::string_view body,
                                   content::MultipartLimits limits);

}  // namespace h2server::fuzz
