// compression(): encodes what handlers send with zstd, br or gzip (RFC 9110, 8.4).
//
//   server.use(compression());
//
// Add it outside of what changes bodies or their fields, and inside of a log that is to see what is
// sent. Files has an encoding of its own.
//
// An attacker who can put text into a page and observe the sizes of its encrypted responses can
// guess secrets that the same page contains (the attack BREACH). Leave such routes without it, or
// set Content-Encoding or Cache-Control: no-transform in their responses.
#pragma once

#include <cstdint>

#include "h2server/middleware.h"

#pragma GCC visibility push(default)
namespace h2server {

struct CompressionOptions {
  // Smaller bodies are sent as they are: with its head, a response of that size fills one packet.
  std::uint64_t bytes_min = 1024;
};

// Encodes bodies that are strings or streamed and whose Content-Type is that of text: text/*, JSON,
// XML, JavaScript, WebAssembly and others, but not text/event-stream. Accept-Encoding selects the
// coding; among equals zstd comes before br and gzip. The encoded response has no Content-Length
// unless it is made at once.
//
// Not for files, for statuses without a whole body (204, 205, 206, 304), nor for responses with
// Content-Encoding, Content-Range, a digest of the content, or Cache-Control: no-transform.
//
// Adds Vary: Accept-Encoding to what could have been encoded, in any case, and to 304. In an
// encoded response a strong ETag becomes weak: the handler's own comparison with If-None-Match,
// which is a weak one (8.8.3.2), goes on to work. Accept-Ranges is removed. The response to HEAD
// has the same fields as that to GET, without Content-Length.
//
// A string of at most 64 KiB is encoded at once. A longer one, and what a BodySource yields, is
// encoded while it is sent, in steps, and longer steps on another thread. A body without a size is
// flushed after each piece of its source, one with a size is not.
//
// A library that was built without compression changes nothing.
[[nodiscard]] Middleware compression(CompressionOptions options = {});

}  // namespace h2server
#pragma GCC visibility pop
