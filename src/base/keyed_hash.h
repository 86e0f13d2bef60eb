// A hash of texts that depends on a random key of the process, so that a client cannot choose texts
// whose hashes collide. Not for cryptography.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::base {

[[nodiscard]] std::uint64_t keyed_hash(std::string_view text) noexcept;

}  // namespace h2server::base
