// Which bytes of a representation a Range field asks for (RFC 9110, 14.1.2 and 14.2).
//
// One range of bytes at most: several are answered with the whole, as 14.2 lets a server do. Not
// the place where If-Range is decided, that is http/conditional.h. Pure, any thread, no allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace h2server::http {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

enum class RangeVerdict {
  whole,          // 200: the field is to be ignored
  partial,        // 206: `range` lies inside the representation and is not empty
  unsatisfiable,  // 416: with "Content-Range: bytes */size"
};

struct RangeChoice {
  RangeVerdict verdict = RangeVerdict::whole;
  ByteRange range;  // all of it when whole, empty when unsatisfiable
};

// `range_field` is the value of the Range field, `size` the bytes of the representation.
// Numbers too large for 64 bits are taken as the largest: as a last position they are clamped, as
// a first position they cannot be satisfied.
RangeChoice choose_range(std::string_view range_field, std::uint64_t size) noexcept;

}  // namespace h2server::http
