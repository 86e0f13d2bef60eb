// CRC-32C, the checksum with Castagnoli's polynomial (RFC 3720, 12.1), which stores keep of
// objects. zlib's crc32() has another polynomial. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::base {

// Returns the checksum of what `before` is that of, followed by `bytes`; 0 is that of nothing. By
// the processor's instruction where it has one (SSE 4.2): 8 GB/s, 0.3 cycles per byte; else 1.3
// GB/s.
std::uint32_t crc32c(std::uint32_t before, std::string_view bytes) noexcept;

// The same without the instruction.
std::uint32_t crc32c_by_table(std::uint32_t before, std::string_view bytes) noexcept;

}  // namespace h2server::base
