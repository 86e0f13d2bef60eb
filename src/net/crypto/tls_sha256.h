// SHA-256 (FIPS 180-4). A pure function, any thread.
#pragma once

#include <array>
#include <string_view>

namespace h2server::net {

using Sha256Digest = std::array<unsigned char, 32>;

[[nodiscard]] Sha256Digest sha256(std::string_view bytes);

}  // namespace h2server::net
