// Serves several listeners and answers with what the server knows of the connection.
//
//   build/release/examples/connection tls:8443 http:8080 unix:./socket
//   curl http://localhost:8080/
//   curl --unix-socket ./socket http://localhost/
//   curl -k --cert alice.crt --key alice.key https://localhost:8443/
//
// The arguments are listeners (tls:PORT, http:PORT, unix:PATH, and fd:NUMBER for an inherited
// socket, both in cleartext) and options:
//   cert:FILE key:FILE  the server's certificate and key
//   optional:FILE       asks clients for certificates of the authorities in this file
//   required:FILE       refuses clients without one
//   scheme:NUMBER       of ServerScheme
#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace h2server;

// "192.0.2.1 port 80", or the path of a Unix socket.
std::string text_of(const Address& address) {
  if (address.host.empty()) return address.path.empty() ? "unknown" : address.path;
  return address.host + " port " + std::to_string(address.port);
}

Response describe(Request& request) {
  const ConnectionInfo& connection = request.connection();
  std::string text = request.head().version == Version::http_2 ? "HTTP/2\n" : "HTTP/1\n";
  text += "client: " + text_of(connection.client()) + "\n";
  text += "server: " + text_of(connection.server()) + "\n";
  if (const std::optional<TlsInfo> tls = connection.tls()) {
    text += "tls: " + tls->version + " " + tls->cipher + " " + tls->group + "\n";
    text += "name: " + tls->server_name + "\n";
    if (tls->client_certificate) {
      text += "certificate: " + tls->client_certificate->subject + "\n";
      text += tls->client_certificate->pem;
    }
  }
  return {200, text};
}

// Returns false if the argument is none that is described above.
bool apply(std::string_view argument, ServerOptions& options) {
  const std::size_t colon = argument.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view kind = argument.substr(0, colon);
  const std::string value(argument.substr(colon + 1));
  const int number = std::atoi(value.c_str());
  const auto port = static_cast<std::uint16_t>(number);
  if (kind == "tls") options.listeners.push_back({.port = port});
  else if (kind == "http") options.listeners.push_back({.port = port, .cleartext = true});
  else if (kind == "unix") options.listeners.push_back({.unix_path = value, .cleartext = true});
  else if (kind == "fd") options.listeners.push_back({.descriptors = {number}, .cleartext = true});
  else if (kind == "cert") options.certificate_file = value;
  else if (kind == "key") options.key_file = value;
  else if (kind == "scheme") options.scheme = static_cast<ServerScheme>(number);
  else if (kind == "optional" || kind == "required") {
    options.client_ca_file = value;
    options.client_certificates =
        kind == "optional" ? ClientCertificates::optional : ClientCertificates::required;
  } else {
    return false;
  }
  return true;
}

int main(int argc, char** argv) {
  ServerOptions options;
  bool usable = argc > 1;
  for (int i = 1; i < argc; ++i) usable = apply(argv[i], options) && usable;
  if (!usable) return std::fprintf(stderr, "usage: see the comment in this program\n"), 2;
  options.threads = 2;
  Server server(options);
  server.add_handler(GET, "/", describe);
  const auto done = server.run([&server] {
    for (const Address& address : server.addresses()) {
      std::printf("listening on %s\n", text_of(address).c_str());
    }
    std::printf("ready\n");
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
