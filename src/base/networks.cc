#include "base/networks.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace h2server::base {

namespace {

constexpr unsigned mapped_bits = 96;  // in front of an IPv4 address
constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// Returns the byte of a mask of that many bits.
std::uint8_t mask_byte(unsigned bits, std::size_t index) noexcept {
  const unsigned first = static_cast<unsigned>(index) * 8;
  if (bits >= first + 8) return 0xff;
  if (bits <= first) return 0;
  return static_cast<std::uint8_t>(0xff << (8 - (bits - first)));
}

}  // namespace

bool Networks::read(std::string_view text, Bytes& bytes) noexcept {
  std::array<char, INET6_ADDRSTRLEN> room{};
  text = text.substr(0, text.find('%'));
  if (text.empty() || text.size() >= room.size()) return false;
  std::ranges::copy(text, room.begin());
  if (::inet_pton(AF_INET6, room.data(), bytes.data()) == 1) return true;
  std::ranges::copy(mapped_prefix, bytes.begin());
  return ::inet_pton(AF_INET, room.data(), bytes.data() + mapped_prefix.size()) == 1;
}

Result<Networks, std::string> Networks::parse(const std::vector<std::string>& texts) {
  Networks made;
  for (const std::string& text : texts) {
    const std::size_t slash = text.find('/');
    const std::string_view address = std::string_view(text).substr(0, slash);
    Network network;
    const bool is_ip4 = !address.contains(':');
    bool valid = !address.contains('%') && read(address, network.bytes);
    if (valid && slash != std::string::npos) {
      const char* const end = text.data() + text.size();
      const auto [at, error] = std::from_chars(text.data() + slash + 1, end, network.bits);
      valid = error == std::errc() && at == end && network.bits <= (is_ip4 ? 32U : 128U);
      if (is_ip4) network.bits += mapped_bits;
    }
    for (std::size_t i = 0; valid && i < network.bytes.size(); ++i) {
      valid = (network.bytes[i] & ~mask_byte(network.bits, i)) == 0;
    }
    if (!valid) {
      return std::unexpected(fmt::format(
          "\"{}\" is neither an address nor a network, such as 192.0.2.7 or 10.0.0.0/8", text));
    }
    made.networks_.push_back(network);
  }
  return made;
}

std::string Networks::plain(std::string_view address) {
  Bytes bytes{};
  const bool is_mapped = address.contains(':') && read(address, bytes) &&
                         std::ranges::equal(mapped_prefix, std::span(bytes).first<12>());
  if (!is_mapped) return std::string(address);
  return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
}

bool Networks::contains(std::string_view address) const noexcept {
  Bytes bytes{};
  if (networks_.empty() || !read(address, bytes)) return false;
  return std::ranges::any_of(networks_, [&bytes](const Network& network) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if ((bytes[i] & mask_byte(network.bits, i)) != network.bytes[i]) return false;
    }
    return true;
  });
}

}  // namespace h2server::base
