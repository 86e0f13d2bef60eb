// Networks: a set of IPv4 and IPv6 addresses and networks. Immutable once made, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"

namespace h2server::base {

class Networks {
 public:
  Networks() = default;
  // Each text is an address or a network in CIDR notation (RFC 4632, 3.1; RFC 4291, 2.3):
  // "192.0.2.7", "10.0.0.0/8", "2001:db8::/32". The error names the one that is neither, or whose
  // bits behind the prefix are not zero.
  static Result<Networks, std::string> parse(const std::vector<std::string>& texts);

  [[nodiscard]] bool empty() const noexcept { return networks_.empty(); }
  // Returns true if the text is a numeric address, maybe with a zone.
  [[nodiscard]] static bool is_address(std::string_view text) noexcept {
    Bytes ignored{};
    return read(text, ignored);
  }
  // Returns the IPv4 address of an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2); another text as it
  // is.
  [[nodiscard]] static std::string plain(std::string_view address);
  // Returns true if a numeric address lies in one of them. An IPv4-mapped IPv6 address counts as
  // the IPv4 address; a zone ("%eth0") does not count.
  [[nodiscard]] bool contains(std::string_view address) const noexcept;

 private:
  using Bytes = std::array<std::uint8_t, 16>;  // IPv4 addresses are mapped (RFC 4291, 2.5.5.2)
  struct Network {
    Bytes bytes{};
    unsigned bits = 128;
  };

  static bool read(std::string_view text, Bytes& bytes) noexcept;

  std::vector<Network> networks_;
};

}  // namespace h2server::base
