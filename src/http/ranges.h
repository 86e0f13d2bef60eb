// Interprets a Range field (RFC 9110, 14.1.2 and 14.2).
//
// Supports one range of bytes. A request for several gets the whole representation, as 14.2 allows.
// Does not evaluate If-Range; see http/conditional.h. Pure, any thread, no allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::http {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

enum class RangeVerdict {
  whole,          // 200: ignore the field
  partial,        // 206: `range` lies inside the representation and is not empty
  unsatisfiable,  // 416 with "Content-Range: bytes */size"
};

struct RangeChoice {
  RangeVerdict verdict = RangeVerdict::whole;
  ByteRange range;  // everything if whole, empty if unsatisfiable
};

// `range_field` is the value of the Range field, `size` the bytes of the representation.
// Numbers that exceed 64 bits are taken as the largest: a last position is clamped to the end, a
// first position is unsatisfiable.
RangeChoice choose_range(std::string_view range_field, std::uint64_t size) noexcept;

}  // namespace h2server::http
