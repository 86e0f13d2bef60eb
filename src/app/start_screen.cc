#include "app/start_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "app/qr_code.h"
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

std::string describe_root(const Options& options) {
  std::error_code failure;
  const auto full = std::filesystem::canonical(options.server.root, failure);
  const std::string root = failure ? options.server.root : full.string();
  std::string extra = options.files.listing ? "listed" : "not listed";
  if (options.files.hidden) extra += ", with hidden files";
  return fmt::format("{} ({})", root, extra);
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

StartScreen start_screen(const StartScreenFacts& facts, const Server& server) {
  const auto& [options, credentials, wanted_port, terminal] = facts;
  const ServerOptions& settings = options.server;
  const std::vector<std::string> list = urls(settings, server);
  std::string screen = "h2server " H2SERVER_VERSION "\n\n";
  for (const std::string& one : list) screen += fmt::format("  {}\n", one);
  screen += '\n';
  const auto row = [&screen](std::string_view name, std::string_view value) {
    screen += fmt::format("  {:<10} {}\n", name, value);
  };
  if (settings.port != wanted_port) {
    row("port",
        fmt::format("{}, because another program listens on {}", settings.port, wanted_port));
  }
  row("protocols", settings.cleartext ? "HTTP/1.1, HTTP/2 with prior knowledge (h2c); no encryption"
                                      : "HTTP/2 and HTTP/1.1 over TLS 1.3 or 1.2");
  row("root", describe_root(options));
  if (!options.upload_directory.empty()) {
    row("uploads", fmt::format("{} at {}files", options.upload_directory, list.front()));
  }
  row("scheme",
      fmt::format("{}, {}", server::kind_of(settings.scheme).name, describe_workers(settings)));
  const Server::Engine& engine = server.engine();
  row("engine",
      engine.reason.empty() ? engine.name : fmt::format("{} ({})", engine.name, engine.reason));
  if (!settings.cleartext && (options.certificate == CertificateSource::own ||
                              options.certificate == CertificateSource::self_signed)) {
    row("cert", fmt::format("{} (self-signed: browsers ask before they go on)",
                            credentials.temporary_directory.empty() ? settings.certificate_file
                                                                    : "in memory"));
  }
  if (!credentials.authority_file.empty()) {
    row("cert", fmt::format("of your local CA{}", credentials.authority_is_new
                                                      ? ", which is new: h2server trust installs it"
                                                      : " (h2server trust installs it)"));
  }
  if (!settings.cleartext) row("SHA-256", credentials.fingerprint);
  const auto for_others = std::ranges::find_if_not(list, names_this_machine);
  const std::string& shared = for_others != list.end() ? *for_others : list.front();
  if (terminal && for_others != list.end()) screen += qr_code_of(shared, screen);
  screen += terminal
                ? "\n  Ctrl-C stops; q shows a QR code, s statistics, any other key all keys.\n\n"
                : "\n  Ctrl-C stops.\n";
  return {std::move(screen), shared};
}

}  // namespace h2server::app
