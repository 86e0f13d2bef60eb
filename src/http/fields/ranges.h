// Interprets a Range field (RFC 9110, 14.1.2 and 14.2).
//
// Ranges that overlap, touch or lie so close together that another part would cost more than the
// bytes between them are merged; the others stay in the order of the field (15.3.7.2). Several
// ranges and the estimated overhead of their parts are always fewer bytes than the whole
// representation, whatever the field asks for (17.15). Does not evaluate If-Range; see
// http/fields/conditional.h. Pure, any thread. Allocates only if several ranges can be satisfied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace h2server::http {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  bool operator==(const ByteRange&) const = default;
};

struct RangeLimits {
  // Elements of the field; 200 is also Apache's default. With more the field is ignored.
  static constexpr std::size_t elements_max = 200;
  // Parts of a response. With more the field is ignored. Each may be a read at another place of the
  // disk, so it bounds what one request can cause. Viewers of documents ask for a few dozen.
  static constexpr std::size_t parts_max = 64;
  // Ranges with at most that many bytes between them are merged. RFC 9110, 15.3.7.2 estimates the
  // overhead of a part at 80 bytes; that of http/byteranges is never less.
  static constexpr std::uint64_t part_overhead_bytes = 80;
};

enum class RangeVerdict {
  whole,          // 200: ignore the field
  partial,        // 206: `range` lies inside the representation and is not empty
  several,        // 206 with multipart/byteranges: `parts`
  unsatisfiable,  // 416 with "Content-Range: bytes */size"
};

struct RangeChoice {
  RangeVerdict verdict = RangeVerdict::whole;
  ByteRange range;  // everything if whole, empty if several or unsatisfiable
  // If several, at least two, disjoint, in the order to send them. Each is as `range` if partial.
  std::vector<ByteRange> parts;
};

// `range_field` is the value of the Range field, `size` the bytes of the representation.
// Numbers that exceed 64 bits are taken as the largest: a last position is clamped to the end, a
// first position is unsatisfiable. Elements that can't be satisfied don't count if another can.
RangeChoice choose_range(std::string_view range_field, std::uint64_t size);

}  // namespace h2server::http
