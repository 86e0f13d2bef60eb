// The pairs of a SYN_STREAM or of HEADERS as the head of a request, or as trailer fields (SPDY,
// 3.2.1). HTTP/2's builder does what both protocols share.
#pragma once

#include <cstdint>
#include <span>

#include "h2server/message.h"
#include "http/h2/request_head.h"

namespace h2server::lab::spdy {

enum class HeadVerdict : std::uint8_t {
  good,
  incomplete,  // :method, :path, :version, :host or :scheme is missing: 400 is the answer
  malformed,   // a stream error
  flood,       // a session error: much larger than the limit
};

// `builder` has begun the head, or the trailers, of an exchange.
[[nodiscard]] HeadVerdict read_head(std::span<const Field> pairs,
                                    http::h2::RequestHeadBuilder& builder);
[[nodiscard]] HeadVerdict read_trailers(std::span<const Field> pairs,
                                        http::h2::RequestHeadBuilder& builder);

}  // namespace h2server::lab::spdy
