#include "app/client/received_fields.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace h2server::app {

void take_line(std::string_view line, ReceivedFields& fields) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) fields.clear();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), base::to_lower);
  fields[std::move(name)] = base::trim(line.substr(colon + 1));
}

}  // namespace h2server::app
