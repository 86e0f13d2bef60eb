// A body of multipart/form-data taken apart as RFC 2046, 5.1.1 writes it down, in a buffer that
// holds all of it: what the parser, which reads pieces, is compared with. Does not look into the
// heads of parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "content/multipart.h"

namespace h2server::fuzz {

struct MultipartReference {
  enum class End {
    finished,         // by the closing delimiter
    malformed,        // something else than a line's end follows a delimiter
    head_incomplete,  // or longer than the limit, or with an LF that no CR precedes
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
