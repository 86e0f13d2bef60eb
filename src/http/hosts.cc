#include "http/hosts.h"

#include <algorithm>

namespace h2server::http {

HostRoutes* HostTable::add(std::span<const std::string> names) {
  HostRoutes* const* const known = names_.find_added(names.front());
  const auto belongs = [&](const std::string& name) {
    HostRoutes* const* const other = names_.find_added(name);
    return known == nullptr ? other == nullptr : other != nullptr && *other == *known;
  };
  if (!std::ranges::all_of(names, belongs)) return nullptr;
  if (known != nullptr) return *known;
  HostRoutes& made = hosts_.emplace_back();
  made.number = static_cast<std::uint32_t>(hosts_.size());
  made.name = names.front();
  for (const std::string& name : names) names_.set(name, &made);
  return &made;
}

}  // namespace h2server::http
