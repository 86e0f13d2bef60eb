// Result of the multipart/form-data parser for a body, with checks of its events that hold for
// every division into pieces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/receive/multipart.h"
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

// Aborts if the events come in a wrong order.
MultipartReading read_multipart(std::string_view boundary, std::string_view body, Cuts cuts,
                                content::MultipartLimits limits);

// Returns the whole reading as text. It must not depend on the cuts.
std::string describe(const MultipartReading& reading);

}  // namespace h2server::fuzz
