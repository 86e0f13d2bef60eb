#include "app/start_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/system/qr_code.h"
#include "net/certs/interfaces.h"
#include "net/tls/tls_groups.h"
#include "server/schemes/scheme.h"

namespace h2server::app {

namespace {

std::string url(bool cleartext, const std::string& host, std::uint16_t port) {
  const bool usual = port == (cleartext ? 80 : 443);
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}/", cleartext ? "http" : "https", ipv6 ? "[" : "", host,
                     ipv6 ? "]" : "", usual ? "" : fmt::format(":{}", port));
}

// The URLs of a listener at that address: for this machine first.
void add_urls(const config::Listener& listener, const Address& address,
              std::vector<std::string>& list) {
  if (!address.path.empty()) {
    list.push_back("unix:" + address.path);
    return;
  }
  const bool wildcard = address.host == "::" || address.host == "0.0.0.0";
  const bool loopback = address.host == "::1" || address.host.starts_with("127.");
  const std::string own = wildcard || loopback ? "localhost" : address.host;
  list.push_back(url(listener.cleartext, own, address.port));
  if (!wildcard) return;
  for (const std::string& other : net::reachable_addresses()) {
    list.push_back(url(listener.cleartext, other, address.port));
  }
}

std::string listener_name(const config::Listener& listener) {
  if (!listener.unix_path.empty()) return "unix:" + listener.unix_path;
  return fmt::format("{}:{}", listener.host.empty() ? "*" : listener.host, listener.port);
}

// Of a server with several listeners or sites: one line for each.
void add_rows(const config::Configuration& configuration, std::string& screen) {
  constexpr std::size_t rows_max = 8;  // of each kind
  const auto row = [&screen](std::string_view name, const std::string& value) {
    screen += fmt::format("  {:<10} {}\n", name, value);
  };
  const auto rest = [&](std::string_view name, std::size_t count) {
    if (count > rows_max) row(name, fmt::format("and {} more", count - rows_max));
  };
  for (const config::Listener& one :
       std::span(configuration.listeners)
           .first(std::min(rows_max, configuration.listeners.size()))) {
    const std::string_view how = one.redirect    ? "leads to https"
                                 : one.cleartext ? "no encryption"
                                                 : "TLS";
    row("listener", fmt::format("{} ({}{})", listener_name(one), how,
                                one.proxy_protocol ? ", PROXY protocol" : ""));
  }
  rest("listener", configuration.listeners.size());
  for (const config::Site& site :
       std::span(configuration.sites).first(std::min(rows_max, configuration.sites.size()))) {
    row("site", fmt::format("{}: {}", site.hosts.empty() ? "all other hosts" : site.hosts.front(),
                            site.store.place.empty() ? site.root : site.store.place));
  }
  rest("site", configuration.sites.size());
}

// One listener may have an address for each network; all have the kind of the first.
std::vector<std::string> urls(const config::Configuration& configuration, const Server& server) {
  std::vector<std::string> list;
  const std::vector<Address>& addresses = server.addresses();
  const bool one = configuration.listeners.size() == 1;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto same = [&](const config::Listener& listener) {
      return addresses[i].path.empty() ? listener.port == addresses[i].port
                                       : listener.unix_path == addresses[i].path;
    };
    auto found = std::ranges::find_if(configuration.listeners, same);
    if (found == configuration.listeners.end()) {  // any free port was asked for
      found = std::ranges::find(configuration.listeners, 0, &config::Listener::port);
    }
    const bool known = found != configuration.listeners.end();
    if (!one && known && found->redirect) continue;
    add_urls(one || !known ? configuration.listeners.front() : *found, addresses[i], list);
  }
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

bool names_this_machine(std::string_view url) { return url.contains("//localhost"); }

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

std::string describe_files(const config::Site& site) {
  std::error_code failure;
  const auto full = std::filesystem::canonical(site.root, failure);
  std::string place = failure ? site.root : full.string();
  if (!site.store.place.empty()) place = site.store.place;
  std::string extra = site.files.listing ? "listed" : "not listed";
  if (site.files.hidden) extra += ", with hidden files";
  return fmt::format("{} ({})", place, extra);
}

// If the whole screen has room for it beside the text.
std::string qr_code_of(const std::string& url, const std::string& screen) {
  const QrCode code = make_qr_code(url);
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0) return {};
  const auto lines = static_cast<unsigned>(std::ranges::count(screen, '\n')) + code.lines + 2;
  if (lines > window.ws_row || code.columns + 2 > window.ws_col) return {};
  return "\n" + code.text;
}

}  // namespace

namespace {

using Row = std::function<void(std::string_view name, std::string_view value)>;

// What a server with one site and one listener serves.
void describe_site(const config::Configuration& configuration, const std::string& url,
                   const Row& row) {
  const config::Site& site = configuration.sites.front();
  const bool cleartext = configuration.listeners.front().cleartext;
  row("protocols", cleartext ? "HTTP/1.1, HTTP/2 with prior knowledge (h2c); no encryption"
                             : "HTTP/2 and HTTP/1.1 over TLS 1.3 or 1.2");
  if (!cleartext && net::has_hybrid_group())
    row("key share", "X25519MLKEM768 with clients that have it");
  row(site.store.place.empty() ? "root" : "store", describe_files(site));
  if (!site.upload_directory.empty()) {
    row("uploads", fmt::format("{} at {}files", site.upload_directory, url));
  } else if (site.uploads_to_store) {
    row("uploads", fmt::format("in the store at {}files", url));
  }
}

void describe_certificate(const config::Configuration& configuration,
                          const Credentials& credentials, const Row& row) {
  const config::Site& site = configuration.sites.front();
  const bool cleartext = configuration.listeners.front().cleartext;
  if (!cleartext && (site.certificate == config::CertificateSource::own ||
                     site.certificate == config::CertificateSource::self_signed)) {
    row("cert",
        fmt::format("{} (self-signed: browsers ask before they go on)",
                    credentials.temporary_directory.empty() ? configuration.server.certificate_file
                                                            : "in memory"));
  }
  if (!credentials.authority_file.empty()) {
    row("cert", fmt::format("of your local CA{}", credentials.authority_is_new
                                                      ? ", which is new: h2server trust installs it"
                                                      : " (h2server trust installs it)"));
  }
  if (!credentials.fingerprint.empty()) row("SHA-256", credentials.fingerprint);
}

}  // namespace

StartScreen start_screen(const StartScreenFacts& facts, const Server& server) {
  const auto& [configuration, credentials, wanted_port, terminal, admin_url, tokens] = facts;
  const std::vector<std::string> list = urls(configuration, server);
  std::string screen = "h2server " H2SERVER_VERSION "\n\n";
  for (const std::string& one : list) screen += fmt::format("  {}\n", one);
  screen += '\n';
  const Row row = [&screen](std::string_view name, std::string_view value) {
    screen += fmt::format("  {:<10} {}\n", name, value);
  };
  const std::uint16_t port = configuration.listeners.front().port;
  if (port != wanted_port) {
    row("port", fmt::format("{}, because another program listens on {}", port, wanted_port));
  }
  const bool is_plain = configuration.sites.size() == 1 && configuration.listeners.size() == 1;
  if (is_plain) {
    describe_site(configuration, list.front(), row);
  } else {
    add_rows(configuration, screen);
  }
  const ServerOptions& settings = configuration.server;
  row("scheme",
      fmt::format("{}, {}", server::kind_of(settings.scheme).name, describe_workers(settings)));
  const Server::Engine& engine = server.engine();
  row("engine",
      engine.reason.empty() ? engine.name : fmt::format("{} ({})", engine.name, engine.reason));
  if (is_plain) describe_certificate(configuration, credentials, row);
  if (!configuration.admin.address.empty()) row("admin", admin_url);
  const auto for_others = std::ranges::find_if_not(list, names_this_machine);
  std::string shared = for_others != list.end() ? *for_others : list.front();
  for (const ShownToken& one : tokens) {
    const bool has_url = is_plain && shared.ends_with('/');
    if (has_url) shared = url_with_token(shared, one.token);
    row("token", has_url            ? shared
                 : one.host.empty() ? one.token
                                    : fmt::format("{} for uploads to {}", one.token, one.host));
  }
  if (terminal && for_others != list.end()) screen += qr_code_of(shared, screen);
  screen += terminal
                ? "\n  Ctrl-C stops; q shows a QR code, s statistics, any other key all keys.\n\n"
                : "\n  Ctrl-C stops.\n";
  return {std::move(screen), shared};
}

}  // namespace h2server::app
