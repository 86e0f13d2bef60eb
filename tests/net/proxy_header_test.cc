#include "net/proxy_header.h"

#include <gtest/gtest.h>

#include <string>

namespace h2server::net {
namespace proxy_header_test {

using Verdict = ProxyHeader::Verdict;

std::string binary(unsigned command, unsigned family, std::string_view addresses) {
  std::string header("\r\n\r\n\0\r\nQUIT\n", 12);
  header += static_cast<char>(command);
  header += static_cast<char>(family);
  header += static_cast<char>(addresses.size() >> 8);
  header += static_cast<char>(addresses.size());
  header += addresses;
  return header;
}

const std::string ip4("\xc0\x00\x02\x01\xc6\x33\x64\x02\xc8\x22\x01\xbb", 12);
const std::string ip6 = std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16) +
                        std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02", 16) +
                        std::string("\xc8\x22\x01\xbb", 4);

struct Good {
  std::string header;
  std::string client;  // empty: the connection's own addresses count
};

const Good good[] = {
    {"PROXY TCP4 192.0.2.1 198.51.100.2 51234 443\r\n", "192.0.2.1"},
    {"PROXY TCP6 2001:db8::1 2001:db8::2 51234 443\r\n", "2001:db8::1"},
    {"PROXY TCP6 ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", "malformed"},
    {"PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 51234 443\r\n", "192.0.2.1"},
    {"PROXY UNKNOWN\r\n", ""},
    {"PROXY UNKNOWN ffff::1 whatever\r\n", ""},
    {binary(0x21, 0x11, ip4), "192.0.2.1"},
    {binary(0x21, 0x21, ip6), "2001:db8::1"},
    {binary(0x21, 0x11, ip4 + std::string("\x04\x00\x01\x00", 4)), "192.0.2.1"},  // a TLV
    {binary(0x20, 0x00, ""), ""},                                                 // LOCAL
    {binary(0x20, 0x11, ip4), ""},
    {binary(0x21, 0x31, std::string(216, 'x')), ""},  // Unix sockets
    {binary(0x21, 0x00, ""), ""},
};

TEST(ProxyHeader, ReadsBothVersions) {
  for (const Good& row : good) {
    if (row.client == "malformed") {
      EXPECT_EQ(parse_proxy_header(row.header).verdict, Verdict::malformed);
      continue;
    }
    const ProxyHeader header = parse_proxy_header(row.header + "GET / HTTP/1.1\r\n");
    ASSERT_EQ(header.verdict, Verdict::complete) << row.header;
    EXPECT_EQ(header.size, row.header.size());
    ASSERT_EQ(header.addresses.has_value(), !row.client.empty()) << row.header;
    if (!header.addresses) continue;
    EXPECT_EQ(header.addresses->client.host, row.client);
    EXPECT_EQ(header.addresses->client.port, 51234);
    EXPECT_EQ(header.addresses->server.port, 443);
  }
}

TEST(ProxyHeader, WaitsForEachByte) {
  for (const Good& row : good) {
    if (row.client == "malformed") continue;
    for (std::size_t size = 0; size < row.header.size(); ++size) {
      EXPECT_EQ(parse_proxy_header(row.header.substr(0, size)).verdict, Verdict::need_more)
          << row.header << " " << size;
    }
  }
}

TEST(ProxyHeader, RefusesWhatIsNone) {
  const std::string rows[] = {
      "GET / HTTP/1.1\r\n",
      "PROXY\r\n\r\n",
      "PROXY TCP4\r\n",
      "PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 2 3\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 65536\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 01 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 -1 2\r\n",
      "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
      "PROXY TCP6 192.0.2.1 198.51.100.2 1 2\r\n",
      std::string("PROXY TCP4 192.0.2.1\0x 198.51.100.2 1 2\r\n", 41),
      "PROXY  TCP4 192.0.2.1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 " + std::string(100, '1') + "\r\n",
      "PROXY UNKNOWN " + std::string(107, ' '),  // no end within 107 bytes
      binary(0x11, 0x11, ip4),                   // another version
      binary(0x22, 0x11, ip4),                   // another command
      binary(0x21, 0x11, ip4.substr(1)),         // too short for its family
      binary(0x21, 0x21, ip4),
      binary(0x21, 0x11, std::string(ProxyHeader::bytes_max, 'x')),
      std::string("\r\n\r\n\0\r\nQUIX", 11),
      std::string("\x16\x03\x01", 3),  // TLS
  };
  for (const std::string& row : rows) {
    EXPECT_EQ(parse_proxy_header(row).verdict, Verdict::malformed) << row;
  }
}

}  // namespace proxy_header_test
}  // namespace h2server::net
