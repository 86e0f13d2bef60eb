#include "h2server/forwarded.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/networks.h"
#include "base/text/text.h"
#include "http/fields/syntax.h"

namespace h2server {

namespace {

// A client may send more, which no proxy does.
constexpr std::size_t elements_max = 64;

// Returns the parts between separators outside of quotes, in one pass; of many, the last ones.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool ends = i == text.size() || (text[i] == separator && !quoted);
    if (!ends) {
      if (text[i] == '"') quoted = !quoted;
      continue;
    }
    parts.push_back(base::trim(text.substr(start, i - start)));
    start = i + 1;
  }
  if (parts.size() > elements_max) parts.erase(parts.begin(), parts.end() - elements_max);
  return parts;
}

// RFC 7239, 6: nothing, or ":47011", or an obfuscated port, ":_a1".
bool is_port(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() < 2 || text.front() != ':') return false;
  text.remove_prefix(1);
  constexpr std::size_t digits_max = 5;
  const auto is_obfuscated = [](char c) {
    return base::is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
  };
  if (text.front() == '_') return text.size() > 1 && std::ranges::all_of(text, is_obfuscated);
  return text.size() <= digits_max && std::ranges::all_of(text, base::is_digit);
}

// RFC 7239, 6: "192.0.2.43", "192.0.2.43:47011", "[2001:db8::17]:4711"; X-Forwarded-For has IPv6
// addresses without brackets, too. Returns an empty view for what is no address.
std::string_view address_of(std::string_view node) {
  if (node.size() >= 2 && node.starts_with('"') && node.ends_with('"')) {
    node = node.substr(1, node.size() - 2);
  }
  std::string_view port;
  if (node.starts_with('[')) {
    const std::size_t end = node.find(']');
    if (end == node.npos) return {};
    port = node.substr(end + 1);
    node = node.substr(1, end - 1);
    if (!node.contains(':')) return {};
  } else if (std::ranges::count(node, ':') == 1) {
    port = node.substr(node.find(':'));
    node.remove_suffix(port.size());
  }
  const bool valid = is_port(port) && !node.contains('%') && base::Networks::is_address(node);
  return valid ? node : std::string_view();
}

// Returns the value of "for" in an element of Forwarded: "for=192.0.2.43;proto=https".
std::string_view node_of(std::string_view element) {
  for (const std::string_view pair : split(element, ';')) {
    const std::size_t equals = pair.find('=');
    if (equals == pair.npos) continue;
    if (base::equals_ignoring_case(pair.substr(0, equals), "for")) return pair.substr(equals + 1);
  }
  return {};
}

// Goes from the nearest proxy to the client, and stops at the first address that is not trusted.
class Search {
 public:
  explicit Search(const base::Networks& trusted) noexcept : trusted_(trusted) {}

  // `lines` is a field with all its lines, the last one last. Returns the client or an empty view.
  template <class NodeOf>
  std::string_view find(const std::vector<std::string_view>& lines, NodeOf node_in) const {
    std::string_view client;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      const std::vector<std::string_view> elements = split(*line, ',');
      for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
        const std::string_view address = address_of(node_in(*element));
        if (address.empty()) return client;
        client = address;
        if (!trusted_.contains(address)) return client;
      }
    }
    return client;
  }

 private:
  const base::Networks& trusted_;
};

std::vector<std::string_view> lines_of(const Request& request, std::string_view name) {
  std::vector<std::string_view> lines;
  for (const Field& field : request.head().fields) {
    if (base::equals_ignoring_case(field.name, name)) lines.push_back(field.value);
  }
  return lines;
}

std::string_view forwarded_for(const Request& request, const base::Networks& trusted) {
  const Search search(trusted);
  const std::vector<std::string_view> standard = lines_of(request, "Forwarded");
  const std::vector<std::string_view> usual = lines_of(request, "X-Forwarded-For");
  // A proxy sets one of them and lets a client's other one pass.
  if (!standard.empty() && !usual.empty()) return {};
  if (!standard.empty()) return search.find(standard, node_of);
  return search.find(usual, [](std::string_view element) { return element; });
}

}  // namespace

Middleware forwarded_client(const std::vector<std::string>& trusted_proxies) {
  auto trusted = base::Networks::parse(trusted_proxies);
  if (!trusted) throw std::invalid_argument(trusted.error());
  return [trusted = *std::move(trusted)](Request& request) -> std::optional<Response> {
    const Address proxy = request.connection().client();
    // A client of a Unix socket has no address, and neither has one that has reset its connection.
    const bool believed =
        proxy.host.empty() ? request.connection().is_unix_socket() : trusted.contains(proxy.host);
    if (!believed) return std::nullopt;
    const std::string_view client = forwarded_for(request, trusted);
    if (!client.empty()) request.attach(ForwardedClient{base::Networks::plain(client)});
    return std::nullopt;
  };
}

}  // namespace h2server
