#include "app/admin/own_names.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/host_map.h"
#include "base/networks.h"
#include "base/text/text.h"
#include "content/uploads/access/access_pages.h"
#include "h2server/request.h"
#include "h2server/response.h"

namespace h2server::app {

namespace {

// "fritz.box" is its maker's, whose routers give it to the machines at home.
constexpr std::array<std::string_view, 8> private_domains = {
    "fritz.box", "home", "home.arpa", "internal", "lan", "local", "localhost", "test"};

constexpr std::string_view unknown_name =
    "Uploads that are open to everyone need this name in the configuration: host in [[site]].";

bool is_subdomain(std::string_view name, std::string_view domain) noexcept {
  return name.size() > domain.size() && name[name.size() - domain.size() - 1] == '.' &&
         base::equals_ignoring_case(name.substr(name.size() - domain.size()), domain);
}

std::string name_of_machine() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace

bool is_address_or_localhost(std::string_view authority) noexcept {
  std::string_view name = base::host_of(authority);
  if (name.starts_with('[')) name = name.substr(1, name.size() - 2);
  return base::Networks::is_address(name) || base::equals_ignoring_case(name, "localhost");
}

bool is_own_name(std::string_view authority, std::string_view machine) noexcept {
  if (authority.empty() || is_address_or_localhost(authority)) return true;
  const std::string_view name = base::host_of(authority);
  if (name.empty() || name.contains('%')) return false;  // clients might decode it
  const bool is_private = std::ranges::any_of(
      private_domains, [name](std::string_view domain) { return is_subdomain(name, domain); });
  return is_private || !name.contains('.') || base::equals_ignoring_case(name, machine);
}

Middleware own_names_only() {
  return [machine = name_of_machine()](Request& request) -> std::optional<Response> {
    if (request.head().encrypted) return std::nullopt;
    if (is_own_name(request.head().authority, machine)) return std::nullopt;
    return content::refusal_page(request, 421, unknown_name);
  };
}

}  // namespace h2server::app
