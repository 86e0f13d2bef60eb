#include "net/proxy_header.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "base/networks.h"

namespace h2server::net {

namespace {

using Verdict = ProxyHeader::Verdict;

constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", 12);  // 2.2
constexpr std::size_t fixed_bytes = 16;                            // of version 2
constexpr std::size_t line_bytes_max = 107;                        // 2.1, with CRLF

ProxyHeader malformed() { return {.verdict = Verdict::malformed}; }

// Takes a word and the space behind it.
std::string_view take_word(std::string_view& rest) {
  const std::size_t end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return word;
}

bool is_address(int family, std::string_view text) {
  std::array<unsigned char, 16> ignored;
  const bool has_zero = text.contains('\0');
  return !has_zero && ::inet_pton(family, std::string(text).c_str(), ignored.data()) == 1;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool valid = error == std::errc() && end == text.data() + text.size();
  const bool padded = text.size() > 1 && text.front() == '0';
  return valid && !padded ? std::optional(port) : std::nullopt;
}

// 2.1: "PROXY TCP4 192.0.2.1 198.51.100.2 51234 443", CRLF.
ProxyHeader parse_line(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, line_bytes_max).find("\r\n");
  if (end == bytes.npos) {
    return bytes.size() < line_bytes_max ? ProxyHeader() : malformed();
  }
  ProxyHeader header{.verdict = Verdict::complete, .size = end + 2};
  std::string_view rest = bytes.substr(0, end);
  take_word(rest);  // PROXY
  const std::string_view protocol = take_word(rest);
  if (protocol == "UNKNOWN") return header;
  if (protocol != "TCP4" && protocol != "TCP6") return malformed();
  const int family = protocol == "TCP4" ? AF_INET : AF_INET6;
  const std::string_view client = take_word(rest);
  const std::string_view server = take_word(rest);
  const auto client_port = port_of(take_word(rest));
  const auto server_port = port_of(rest);
  const bool valid =
      is_address(family, client) && is_address(family, server) && client_port && server_port;
  if (!valid) return malformed();
  header.addresses = {.client = {.host = base::Networks::plain(client), .port = *client_port},
                      .server = {.host = base::Networks::plain(server), .port = *server_port}};
  return header;
}

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

std::string address_text(int family, std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, bytes.data(), text.data(), text.size());  // there is room for all addresses
  return base::Networks::plain(text.data());
}

// Two addresses, then two ports.
ProxiedAddresses internet_addresses(int family, std::size_t size, std::string_view bytes) {
  return {.client = {.host = address_text(family, bytes.substr(0, size)),
                     .port = number_at(bytes, 2 * size)},
          .server = {.host = address_text(family, bytes.substr(size, size)),
                     .port = number_at(bytes, 2 * size + 2)}};
}

ProxyHeader parse_binary(std::string_view bytes) {
  if (bytes.size() < fixed_bytes) return {};
  const auto version_and_command = static_cast<unsigned char>(bytes[12]);
  const auto family_and_protocol = static_cast<unsigned char>(bytes[13]);
  const std::size_t length = number_at(bytes, 14);
  constexpr unsigned local = 0x20;
  constexpr unsigned proxied = 0x21;
  if (version_and_command != local && version_and_command != proxied) return malformed();
  if (fixed_bytes + length > ProxyHeader::bytes_max) return malformed();
  if (bytes.size() < fixed_bytes + length) return {};
  ProxyHeader header{.verdict = Verdict::complete, .size = fixed_bytes + length};
  if (version_and_command == local) return header;
  const std::string_view block = bytes.substr(fixed_bytes, length);
  constexpr unsigned tcp_ip4 = 0x11;
  constexpr unsigned tcp_ip6 = 0x21;
  if (family_and_protocol == tcp_ip4) {
    if (length < 12) return malformed();
    header.addresses = internet_addresses(AF_INET, 4, block);
  } else if (family_and_protocol == tcp_ip6) {
    if (length < 36) return malformed();
    header.addresses = internet_addresses(AF_INET6, 16, block);
  }
  // 2.2: of others, such as Unix sockets, the receiver takes the connection's own addresses.
  return header;
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view bytes) {
  constexpr std::string_view word = "PROXY ";
  const auto begins = [bytes](std::string_view start) {
    return bytes.starts_with(start) || start.starts_with(bytes);
  };
  if (begins(word)) return bytes.size() < word.size() ? ProxyHeader() : parse_line(bytes);
  if (!begins(signature)) return malformed();
  return bytes.size() < signature.size() ? ProxyHeader() : parse_binary(bytes);
}

}  // namespace h2server::net
