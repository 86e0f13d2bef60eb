// HostTable: the routes of single hosts, found by the name in Host, :authority or SNI.
//
// Filled before the server starts, then only read, by all workers.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>

#include "base/host_map.h"
#include "http/path_rules.h"
#include "http/router.h"

namespace h2server::http {

// A host, or several that are served alike.
struct HostRoutes {
  std::uint32_t number = 0;  // in the order of their making, from 1; 0 means all other hosts
  std::string name;          // the first one
  Router router;
  PathRewrites rewrites;
};

class HostTable {
 public:
  // Returns the routes of these names (see base::HostMap), which are new, or those of before if
  // they are one host's. Returns null if they belong to different hosts. There is at least one.
  HostRoutes* add(std::span<const std::string> names);

  // Returns the host of an authority, or null. Allocates nothing.
  [[nodiscard]] const HostRoutes* find(std::string_view authority) const noexcept {
    HostRoutes* const* const found = names_.find(authority);
    return found != nullptr ? *found : nullptr;
  }
  [[nodiscard]] bool empty() const noexcept { return hosts_.empty(); }
  // In the order of their numbers.
  [[nodiscard]] const std::deque<HostRoutes>& hosts() const noexcept { return hosts_; }

 private:
  std::deque<HostRoutes> hosts_;  // stable addresses
  base::HostMap<HostRoutes*> names_;
};

}  // namespace h2server::http
