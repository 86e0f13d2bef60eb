// Fuzzer of the PROXY protocol's header, with what follows it on the connection.
#include <algorithm>
#include <string>

#include "fuzzer.h"
#include "net/proxy_header.h"
#include "pieces.h"
#include "proxy_header_reference.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using net::ProxyHeader;
using Verdict = ProxyHeader::Verdict;

ProxyHeader parse(std::string_view bytes) {
  const ExactCopy copy(bytes);
  return net::parse_proxy_header(copy.view());
}

void require_same_addresses(const ProxyHeader& left, const ProxyHeader& right,
                            std::string_view what) {
  require(left.addresses.has_value() == right.addresses.has_value(), what);
  if (!left.addresses) return;
  require_same(left.addresses->client.host, right.addresses->client.host, what);
  require_same(left.addresses->server.host, right.addresses->server.host, what);
  require(left.addresses->client == right.addresses->client, what);
  require(left.addresses->server == right.addresses->server, what);
}

void compare(const ProxyHeader& header, const ProxyHeader& reference) {
  require(header.verdict == reference.verdict, "the verdict is that of the reference");
  if (header.verdict != Verdict::complete) return;
  require(header.size == reference.size, "the size is that of the reference");
  require_same_addresses(header, reference, "the addresses are those of the reference");
}

// A header may arrive in pieces: each beginning is a header to come, until it is decided.
void check_beginnings(std::string_view input, const ProxyHeader& whole) {
  const std::size_t size = std::min(input.size(), ProxyHeader::bytes_max);
  bool decided = false;
  for (std::size_t count = 0; count <= size && !decided; ++count) {
    const ProxyHeader header = parse(input.substr(0, count));
    decided = header.verdict != Verdict::need_more;
    if (!decided) continue;
    require(header.verdict == whole.verdict, "more bytes change no verdict");
    if (header.verdict != Verdict::complete) continue;
    require(header.size == count, "a header is complete with its last byte");
    require(header.size == whole.size, "what follows is not in it");
    require_same_addresses(header, whole, "and changes no address");
  }
  require(decided == (whole.verdict != Verdict::need_more), "the verdict comes with a byte");
  require(decided || input.size() < ProxyHeader::bytes_max, "a longest header is decided");
}

// Hosts are addresses in one form, so that they can be written again in both versions.
void check_addresses(const ProxyHeader& whole) {
  const net::ProxiedAddresses& addresses = *whole.addresses;
  require(addresses.client.path.empty() && addresses.server.path.empty(), "a host is no socket");
  const bool client_is_ip6 = addresses.client.host.contains(':');
  if (client_is_ip6 != addresses.server.host.contains(':')) return;  // one was IPv4-mapped
  const std::string line = write_proxy_line(addresses);
  const ProxyHeader first = parse(line);
  require(first.verdict == Verdict::complete && first.size == line.size(), "it is a line");
  require_same_addresses(first, whole, "a line has the same addresses");
  const std::string block = write_proxy_block(addresses);
  const ProxyHeader second = parse(block);
  require(second.verdict == Verdict::complete && second.size == block.size(), "and a block");
  require(second.addresses->client.port == addresses.client.port, "a block has the same ports");
  require_same(write_proxy_block(*second.addresses), block, "and the same addresses");
}

}  // namespace

void check(std::string_view input) {
  const ProxyHeader whole = parse(input);
  compare(whole, read_proxy_header(input));
  check_beginnings(input, whole);
  require(whole.verdict != Verdict::complete || whole.size <= input.size(), "the size is right");
  if (whole.addresses) check_addresses(whole);
}

}  // namespace h2server::fuzz
