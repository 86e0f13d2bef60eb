// Encodes a response's head and the chunked coding (RFC 9112, 4 to 7).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/memory/arena.h"
#include "base/memory/buffer_chain.h"
#include "h2server/message.h"
#include "h2server/response.h"

namespace h2server::http::h1 {

struct EncodeOptions {
  std::string_view date;                // IMF-fixdate
  Version version = Version::http_1_1;  // the client's
  bool close = false;                   // after this response
  std::size_t following = 0;            // bytes that are appended next, so that they get one block
};

// Appends the status line and the fields. Content-Length is the size of the body, also for HEAD.
// Without a size an HTTP/1.1 response is chunked, and an HTTP/1.0 one ends with the connection.
void encode_head(base::BufferChain& out, const Response& response, const EncodeOptions& options);

// Appends an interim response (RFC 9110, 15.2).
void encode_interim(base::BufferChain& out, int status, std::span<const Field> fields);

// Writes "1a2b\r\n" into `room` and returns the part used.
std::string_view encode_chunk_size(std::size_t size, std::span<char, 24> room) noexcept;
// Appends the last chunk and those of `trailers` that are allowed as trailer fields.
void encode_last_chunk(base::BufferChain& out, std::span<const Field> trailers, base::Arena& arena);

}  // namespace h2server::http::h1
