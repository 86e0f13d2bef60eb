#include "http/h1/trailer_section.h"

#include "base/assert.h"
#include "http/fields/syntax.h"
#include "http/fields/trailers.h"

namespace h2server::http::h1 {

void TrailerSection::end_line() {
  const std::string_view line = line_;
  const std::size_t colon = line.find(':');
  ASSERT(colon != std::string_view::npos);
  const std::string_view name = lower_case(line.substr(0, colon), arena_);
  if (may_trail(name)) fields_.add(name, arena_.copy(trim(line.substr(colon + 1))));
  line_.clear();
}

}  // namespace h2server::http::h1
