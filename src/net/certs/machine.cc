#include "net/certs/machine.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "net/certs/interfaces.h"
#include "net/certs/tls_issue.h"

namespace h2server::net {

namespace {

// Domains that the DNS of the internet does not delegate (RFC 6761, 6762, 8375; ICANN reserved
// "internal" in 2024; "lan" is what routers use), and networks that it does not route (RFC 1918,
// 3927, 4193, 4291).
constexpr std::array<std::string_view, 6> local_domains{"localhost", "local",    "lan",
                                                        "home.arpa", "internal", "test"};
constexpr std::array local_networks{
    "127.0.0.0/255.0.0.0",     "10.0.0.0/255.0.0.0",
    "172.16.0.0/255.240.0.0",  "192.168.0.0/255.255.0.0",
    "169.254.0.0/255.255.0.0", "::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fc00::/fe00::",           "fe80::/ffc0::",
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), base::to_lower);
  return text;
}

// Only characters that need no escapes in a name, a file or a shell.
std::string plain(std::string text) {
  for (char& c : text) {
    if (!base::is_alphanumeric(c) && c != '.' && c != '_') c = '-';
  }
  return text;
}

std::string user_name() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found);
  // Any failure (no entry, no memory, no reply of a directory service) has this substitute.
  if (error != 0 || found == nullptr) return fmt::format("uid-{}", ::geteuid());
  return found->pw_name;
}

}  // namespace

std::string name_constraints(const Machine& machine) {
  std::string text = "critical";
  for (const std::string_view domain : local_domains)
    text += fmt::format(",permitted;DNS:{}", domain);
  for (const char* const network : local_networks) text += fmt::format(",permitted;IP:{}", network);
  const std::string host = lower(machine.host);
  const bool permitted = std::ranges::find(local_domains, host) != local_domains.end();
  if (permitted || !is_dns_name(host)) return text;
  text += ",permitted;DNS:" + host;
  // A permitted name includes all below it. A host may be called like a domain of the internet
  // ("dev"), whose sites the authority must not sign for.
  const bool is_label = host.find('.') == std::string::npos;
  if (is_label) text += ",excluded;DNS:." + host;
  return text;
}

std::vector<std::string> names_of(const Machine& machine) {
  std::vector<std::string> names{"DNS:localhost", "IP:127.0.0.1", "IP:::1"};
  const auto add = [&names](std::string name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  const std::string host = lower(machine.host);
  if (is_dns_name(host) && host != "localhost") {
    const std::string label = host.substr(0, host.find('.'));
    for (const std::string& name : {host, label + ".local", label + ".lan"}) add("DNS:" + name);
  }
  for (const std::string& address : machine.addresses) add("IP:" + address);
  return names;
}

Machine this_machine() { return {user_name(), machine_name(), reachable_addresses()}; }

std::string authority_name(const Machine& machine) {
  constexpr std::size_t owner_max = 64 - std::string_view("h2server local CA ()").size();
  const std::string owner = fmt::format("{}@{}", plain(machine.user), plain(machine.host));
  return fmt::format("h2server local CA ({})", owner.substr(0, owner_max));
}

}  // namespace h2server::net
