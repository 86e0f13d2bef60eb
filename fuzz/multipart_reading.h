// What the parser of multipart/form-data makes of a body, and what holds for its events in whatever
// pieces the body comes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/multipart.h"
#include "pieces.h"

namespace h2server::fuzz {

struct ReadPart {
  content::PartHead head;
  std::string content;
  bool ended = false;
};

struct MultipartReading {
  std::vector<ReadPart> parts;
  bool finished = false;
  std::string problem;  // empty unless malformed
};

// Checks the order of the events on the way.
MultipartReading read_multipart(std::string_view boundary, std::string_view body, Cuts cuts,
                                content::MultipartLimits limits);

// All of it, none of which may depend on the cuts.
std::string describe(const MultipartReading& reading);

}  // namespace h2server::fuzz
