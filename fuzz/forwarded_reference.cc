#include "forwarded_reference.h"

#include <arpa/inet.h>
#include <strings.h>

#include <array>
#include <optional>
#include <regex>

namespace h2server::fuzz {

namespace {

constexpr std::size_t parts_max = 64;  // as the middleware's

std::string without_blanks(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Returns what stands between the separators that are not in quotes: of many, the last ones.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  std::size_t quotes = 0;
  for (const char c : text) {
    quotes += c == '"' ? 1 : 0;
    if (c == separator && quotes % 2 == 0) parts.emplace_back();
    else parts.back() += c;
  }
  const std::size_t surplus = parts.size() > parts_max ? parts.size() - parts_max : 0;
  return {parts.begin() + static_cast<std::ptrdiff_t>(surplus), parts.end()};
}

bool is_address(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

// RFC 7239, 6.
std::optional<std::string> address_in(std::string node) {
  static const std::regex forms(
      "(?:\\[([^\\]]*:[^\\]]*)\\]|([^:\\[]*))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?");
  if (node.size() > 1 && node.front() == '"' && node.back() == '"') {
    node = node.substr(1, node.size() - 2);
  }
  std::smatch parts;
  if (is_address(node)) return node;      // also of IPv6 without brackets
  constexpr std::size_t bytes_max = 200;  // longer ones are no addresses, and deep for std::regex
  if (node.size() > bytes_max || !std::regex_match(node, parts, forms)) return std::nullopt;
  const std::string address = parts[1].matched ? parts[1].str() : parts[2].str();
  return is_address(address) ? std::optional(address) : std::nullopt;
}

// Returns the node of the first "for=" of an element; an empty text if there is none.
std::string node_in(const std::string& element) {
  for (const std::string& part : parts_of(element, ';')) {
    const std::string pair = without_blanks(part);
    if (::strncasecmp(pair.c_str(), "for=", 4) == 0) return pair.substr(4);
  }
  return {};
}

}  // namespace

std::string read_forwarded(const std::vector<ForwardedLine>& lines,
                           const std::function<bool(const std::string&)>& trusted) {
  std::vector<std::optional<std::string>> nodes;  // in their order: nullopt for what is no address
  std::array<bool, 2> present{};
  for (const ForwardedLine& line : lines) {
    const bool standard = ::strcasecmp(line.name.c_str(), "Forwarded") == 0;
    if (!standard && ::strcasecmp(line.name.c_str(), "X-Forwarded-For") != 0) continue;
    present.at(standard ? 1 : 0) = true;
    for (const std::string& part : parts_of(line.value, ',')) {
      const std::string element = without_blanks(part);
      nodes.push_back(address_in(standard ? node_in(element) : element));
    }
  }
  if (present[0] && present[1]) return {};
  std::string client;
  while (!nodes.empty() && nodes.back()) {
    client = *nodes.back();
    if (!trusted(client)) break;
    nodes.pop_back();
  }
  return client;
}

}  // namespace h2server::fuzz
