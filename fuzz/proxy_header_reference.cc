#include "proxy_header_reference.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <vector>

#include "require.h"

namespace h2server::fuzz {

namespace {

using net::ProxyHeader;
using Verdict = ProxyHeader::Verdict;

const std::string signature("\r\n\r\n\0\r\nQUIT\n", 12);

std::string text_of(int family, const void* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  require(::inet_ntop(family, bytes, text.data(), text.size()) != nullptr, "an address has a text");
  return text.data();
}

// IPv4-mapped addresses are IPv4 addresses (RFC 4291, 2.5.5.2).
std::string text_of(const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return text_of(AF_INET6, &address);
  return text_of(AF_INET, &address.s6_addr[12]);
}

// Returns the host as the parser stores it: as it was written, unless it is an IPv4-mapped one.
std::optional<std::string> read_host(bool is_ip6, const std::string& text) {
  if (text.find('\0') != std::string::npos) return std::nullopt;
  in6_addr ip6{};
  in_addr ip4{};
  if (!is_ip6)
    return ::inet_pton(AF_INET, text.c_str(), &ip4) == 1 ? std::optional(text) : std::nullopt;
  if (::inet_pton(AF_INET6, text.c_str(), &ip6) != 1) return std::nullopt;
  return IN6_IS_ADDR_V4MAPPED(&ip6) ? text_of(ip6) : text;
}

std::optional<std::uint16_t> read_port(const std::string& text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (text.empty() || text.size() > 5 || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  const int port = std::stoi(text);
  if (std::to_string(port) != text || port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == ' ') words.emplace_back();
    else words.back() += c;
  }
  return words;
}

// `line` is without its CRLF.
std::optional<std::optional<net::ProxiedAddresses>> read_line(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  if (words.at(1) == "UNKNOWN") return std::optional<net::ProxiedAddresses>();
  const bool is_ip6 = words[1] == "TCP6";
  if (words.size() != 6 || (!is_ip6 && words[1] != "TCP4")) return std::nullopt;
  const auto client = read_host(is_ip6, words[2]);
  const auto server = read_host(is_ip6, words[3]);
  const auto client_port = read_port(words[4]);
  const auto server_port = read_port(words[5]);
  if (!client || !server || !client_port || !server_port) return std::nullopt;
  return net::ProxiedAddresses{.client = {.host = *client, .port = *client_port},
                               .server = {.host = *server, .port = *server_port}};
}

ProxyHeader read_version_1(std::string_view bytes) {
  const std::string text(bytes.substr(0, 107));
  const std::size_t end = text.find("\r\n");
  if (end == std::string::npos) {
    return {.verdict = text.size() == 107 ? Verdict::malformed : Verdict::need_more};
  }
  const auto addresses = read_line(std::string_view(text).substr(0, end));
  if (!addresses) return {.verdict = Verdict::malformed};
  return {.verdict = Verdict::complete, .size = end + 2, .addresses = *addresses};
}

struct Ip4Block {
  in_addr client;
  in_addr server;
  in_port_t client_port;
  in_port_t server_port;
};
struct Ip6Block {
  in6_addr client;
  in6_addr server;
  in_port_t client_port;
  in_port_t server_port;
};

template <class Block>
std::optional<Block> block_of(std::string_view bytes) {
  Block block;
  if (bytes.size() < sizeof block) return std::nullopt;
  std::memcpy(&block, bytes.data(), sizeof block);
  return block;
}

ProxyHeader read_version_2(std::string_view bytes) {
  if (bytes.size() < 16) return {};
  const int command = bytes[12];
  const auto family = static_cast<unsigned char>(bytes[13]);
  in_port_t length = 0;
  std::memcpy(&length, bytes.data() + 14, sizeof length);
  ProxyHeader header{.verdict = Verdict::malformed, .size = 16U + ntohs(length)};
  if ((command != 0x20 && command != 0x21) || header.size > 4096) {
    return {.verdict = Verdict::malformed};
  }
  if (bytes.size() < header.size) return {};
  const std::string_view block = bytes.substr(16, header.size - 16);
  header.verdict = Verdict::complete;
  if (command == 0x20 || (family != 0x11 && family != 0x21)) return header;
  if (family == 0x11) {
    const auto ip4 = block_of<Ip4Block>(block);
    if (!ip4) return {.verdict = Verdict::malformed};
    header.addresses = {
        .client = {.host = text_of(AF_INET, &ip4->client), .port = ntohs(ip4->client_port)},
        .server = {.host = text_of(AF_INET, &ip4->server), .port = ntohs(ip4->server_port)}};
    return header;
  }
  const auto ip6 = block_of<Ip6Block>(block);
  if (!ip6) return {.verdict = Verdict::malformed};
  header.addresses = {.client = {.host = text_of(ip6->client), .port = ntohs(ip6->client_port)},
                      .server = {.host = text_of(ip6->server), .port = ntohs(ip6->server_port)}};
  return header;
}

bool is_ip6(const Address& address) { return address.host.find(':') != std::string::npos; }

template <class Block>
std::string bytes_of(int family, char kind, const net::ProxiedAddresses& addresses) {
  Block block{};
  const auto read = [family](const Address& address, void* bytes) {
    require(::inet_pton(family, address.host.c_str(), bytes) == 1, "a host is an address");
  };
  read(addresses.client, &block.client);
  read(addresses.server, &block.server);
  block.client_port = htons(addresses.client.port);
  block.server_port = htons(addresses.server.port);
  std::string header = signature + '\x21' + kind + '\0' + static_cast<char>(sizeof block);
  return header.append(reinterpret_cast<const char*>(&block), sizeof block);
}

}  // namespace

ProxyHeader read_proxy_header(std::string_view bytes) {
  const std::string word = "PROXY ";
  if (bytes.substr(0, word.size()) == word) return read_version_1(bytes);
  if (bytes.substr(0, signature.size()) == signature) return read_version_2(bytes);
  const bool may_become_one = word.starts_with(bytes) || signature.starts_with(bytes);
  return {.verdict = may_become_one ? Verdict::need_more : Verdict::malformed};
}

std::string write_proxy_line(const net::ProxiedAddresses& addresses) {
  return std::string("PROXY ") + (is_ip6(addresses.client) ? "TCP6 " : "TCP4 ") +
         addresses.client.host + ' ' + addresses.server.host + ' ' +
         std::to_string(addresses.client.port) + ' ' + std::to_string(addresses.server.port) +
         "\r\n";
}

std::string write_proxy_block(const net::ProxiedAddresses& addresses) {
  return is_ip6(addresses.client) ? bytes_of<Ip6Block>(AF_INET6, '\x21', addresses)
                                  : bytes_of<Ip4Block>(AF_INET, '\x11', addresses);
}

}  // namespace h2server::fuzz
