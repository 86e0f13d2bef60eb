#include "app/start_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "net/interfaces.h"
#include "server/scheme.h"

namespace h2server::app {

namespace {

std::string url(const ServerOptions& options, const std::string& host, std::uint16_t port) {
  const bool usual = port == (options.cleartext ? 80 : 443);
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}/", options.cleartext ? "http" : "https", ipv6 ? "[" : "", host,
                     ipv6 ? "]" : "", usual ? "" : fmt::format(":{}", port));
}

std::vector<std::string> urls(const ServerOptions& options, const Server& server) {
  std::vector<std::string> list;
  for (const Address& address : server.addresses()) {
    const bool wildcard = address.host == "::" || address.host == "0.0.0.0";
    const bool loopback = address.host == "::1" || address.host.starts_with("127.");
    const std::string own = wildcard || loopback ? "localhost" : address.host;
    list.push_back(url(options, own, address.port));
    if (!wildcard) continue;
    for (const std::string& other : net::reachable_addresses()) {
      list.push_back(url(options, other, address.port));
    }
  }
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// The number of workers, or of connections.
std::string describe_workers(const ServerOptions& options) {
  const server::SchemeKind& kind = server::kind_of(options.scheme);
  if (kind.per_connection) {
    const unsigned most = options.connections_max == 0 ? 512 : options.connections_max;
    return fmt::format("up to {} connections", most);
  }
  const unsigned workers = options.threads == 0 ? kind.workers : options.threads;
  return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
}

}  // namespace

std::string start_screen(const Options& options, const Server& server) {
  const ServerOptions& settings = options.server;
  const std::vector<std::string> list = urls(settings, server);
  std::string screen = "h2server " H2SERVER_VERSION "\n\n";
  for (const std::string& one : list) screen += fmt::format("  {}\n", one);
  screen +=
      fmt::format("\n  protocols  {}\n",
                  settings.cleartext ? "HTTP/1.1, HTTP/2 with prior knowledge (h2c); no encryption"
                                     : "HTTP/2 and HTTP/1.1 over TLS 1.3 or 1.2");
  screen += fmt::format("  root       {}\n", settings.root);
  if (!options.upload_directory.empty()) {
    screen += fmt::format("  uploads    {} at {}files\n", options.upload_directory, list.front());
  }
  screen += fmt::format("  scheme     {}, {}\n", server::kind_of(settings.scheme).name,
                        describe_workers(settings));
  const Server::Engine& engine = server.engine();
  screen += engine.reason.empty()
                ? fmt::format("  engine     {}\n", engine.name)
                : fmt::format("  engine     {} ({})\n", engine.name, engine.reason);
  if (options.self_signed && !settings.cleartext) {
    screen += fmt::format("  cert       {} (self-signed: browsers ask before they go on)\n",
                          settings.certificate_file);
  }
  screen += "\n  Ctrl-C stops.\n";
  return screen;
}

}  // namespace h2server::app
