#include "app/system/stop.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/log.h"

namespace h2server::app {

int report(const Stop& reason) {
  if (reason.status == 0) {
    std::fputs(reason.text.c_str(), stdout);
    return 0;
  }
  for (std::string_view rest = reason.text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    base::log_error("{}", line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return reason.status;
}

}  // namespace h2server::app
