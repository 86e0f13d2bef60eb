// Fuzzer of Forwarded and X-Forwarded-For. An input is lines "NAME: VALUE" of the fields that a
// proxy sends; others are left out.
#include "h2server/forwarded.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/networks.h"
#include "base/text/text.h"
#include "forwarded_reference.h"
#include "fuzzer.h"
#include "h2server/connection_info.h"
#include "h2server/request.h"
#include "http/fields/syntax.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

const std::vector<std::string> proxies{"127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"};

class Peer final : public ConnectionInfo {
 public:
  explicit Peer(std::string host) : host_(std::move(host)) {}
  [[nodiscard]] Address client() const override { return {.host = host_}; }

 private:
  std::string host_;
};

// Names are tokens and values are trimmed, as those of a request's head are.
std::vector<ForwardedLine> lines_of(std::string_view input) {
  std::vector<ForwardedLine> lines;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = base::trim(line.substr(colon + 1));
    if (!base::is_token(name) || !std::ranges::all_of(value, http::is_field_value_character)) {
      continue;
    }
    lines.push_back({std::string(name), std::string(value)});
  }
  return lines;
}

// Returns the client that the middleware attaches, or an empty text.
std::string client_of(const std::vector<ForwardedLine>& lines, const std::string& host) {
  static const Middleware middleware = forwarded_client(proxies);
  const Peer peer(host);
  RequestHead head;
  for (const ForwardedLine& line : lines) head.fields.add(line.name, line.value);
  const PathParams params;
  Request request(head, params, nullptr, nullptr, &peer);
  require(!middleware.before()(request), "no request is refused");
  const ForwardedClient* const client = request.attached<ForwardedClient>();
  require(client == nullptr || !client->address.empty(), "a client has an address");
  return client != nullptr ? client->address : std::string();
}

// What a client has written itself stands in front of what proxies add, and changes nothing.
void check_forgeries(const std::vector<ForwardedLine>& lines, const std::string& client) {
  const bool standard = std::ranges::any_of(
      lines, [](const auto& line) { return base::equals_ignoring_case(line.name, "Forwarded"); });
  const ForwardedLine forged = standard ? ForwardedLine{"Forwarded", "for=198.51.100.7"}
                                        : ForwardedLine{"X-Forwarded-For", "198.51.100.7"};
  std::vector<ForwardedLine> more = lines;
  more.insert(more.begin(), forged);
  require_same(client_of(more, "127.0.0.1"), client, "a line in front changes no client");
  more = lines;
  const auto first = std::ranges::find_if(
      more, [&](const auto& line) { return base::equals_ignoring_case(line.name, forged.name); });
  first->value = forged.value + ", " + first->value;
  require_same(client_of(more, "127.0.0.1"), client, "an element in front changes no client");
}

}  // namespace

void check(std::string_view input) {
  static const base::Networks trusted = *base::Networks::parse(proxies);
  const std::vector<ForwardedLine> lines = lines_of(input);
  const std::string client = client_of(lines, "127.0.0.1");
  const std::string reference =
      read_forwarded(lines, [](const std::string& address) { return trusted.contains(address); });
  require_same(client, base::Networks::plain(reference), "the client is that of the reference");
  require(client_of(lines, "198.51.100.1").empty(), "others than proxies are not believed");
  if (client.empty()) return;
  require(base::Networks::is_address(client), "a client is an address");
  require(client.find_first_of(" \t\",;%[]") == std::string::npos, "and nothing else");
  if (!trusted.contains(client)) check_forgeries(lines, client);
}

}  // namespace h2server::fuzz
