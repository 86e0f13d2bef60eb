// Limits: what a server grants its clients, with the reasons. Times are in milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace h2server {

struct Limits {
  std::size_t request_line_bytes_max = 8 * 1024;  // RFC 9112, 3 recommends at least 8000
  std::size_t head_bytes_max = 32 * 1024;         // cookies and tokens fit; one head per connection
  std::size_t fields_max = 100;                   // browsers send about 20

  std::uint32_t handshake_ms_max = 10'000;  // TLS, including the choice of a protocol
  std::uint32_t head_ms_max = 15'000;       // from a head's first byte to its last (slow loris)
  std::uint32_t idle_ms_max = 60'000;       // between requests: browsers reuse within a minute
  // Slack of a client that has to send a body or to read a response. Each byte moved earns a part
  // of it back (base::Pace). A client may pause, but in the long run it must move `bytes_per_s_min`
  // on each stream, which even the slowest lines do.
  std::uint32_t body_idle_ms_max = 60'000;  // for sending a request's body
  std::uint32_t send_idle_ms_max = 60'000;  // for reading a response
  std::uint32_t bytes_per_s_min = 240;
  // An HTTP/2 connection without streams that sends PINGs to stay open, as gRPC clients do.
  std::uint32_t quiet_ms_max = 600'000;
  std::uint32_t goaway_ms_max = 1'000;  // for an idle HTTP/2 client while the server stops
  std::uint32_t linger_ms_max = 2'000;  // for the peer to read the final bytes

  // Closes a connection after this many requests. 0: no limit.
  std::uint64_t requests_per_connection = 0;

  // Maximum unread request body that is discarded. A longer one closes the connection (HTTP/1.1) or
  // resets the stream (HTTP/2).
  std::size_t drain_bytes_max = 256 * 1024;

  // Output buffered before a write: few large system calls, little memory per connection.
  std::size_t output_bytes_max = 256 * 1024;
  // The same for copied bytes: the memory that a slow reader can occupy.
  std::size_t copied_bytes_max = 128 * 1024;
  // Resident file content up to this size is copied next to the head, which costs less than a
  // separate piece.
  std::size_t inline_file_bytes_max = 8 * 1024;

  // Parts of mapped files of this size or more (at least 8 MiB) are sent with sendfile(), on
  // cleartext HTTP/1.1 only. 0: never. Off by default: a peer on the same machine acknowledges data
  // that it has not read, so it may receive pages that change meanwhile.
  std::uint64_t send_file_bytes_min = 0;

  // What the heads and trailers of all requests of an HTTP/2 connection that have not ended exceed
  // 4 KiB each: a byte of HPACK may stand for 4 KiB (CVE-2026-49975).
  std::size_t heads_bytes_max = 256 * 1024;
  std::uint32_t streams_max = 128;  // RFC 9113, 6.5.2 recommends at least 100
  // RFC 9113, 6.9.2 starts at 64 KiB, which limits an upload to 64 KiB per round trip.
  std::int32_t stream_window_bytes = 1024 * 1024;
  std::int32_t connection_window_bytes = 2 * 1024 * 1024;  // bounds the unread data of all streams
  // Upper bound of a stream window that grows for an upload: 7 Gbit/s over 150 ms. The connection's
  // window grows by as much.
  std::int32_t stream_window_bytes_max = 128 * 1024 * 1024;
  // Upper bound of the total growth of the windows of all connections of a server. Half of it may
  // be given in advance, when an upload begins; the rest goes to clients that have shown their
  // speed.
  std::int64_t windows_gain_bytes_max = 512 * 1024 * 1024;
  // Maximum unsent output per connection, in bytes and, for libnghttp2, in frames. A request that
  // is refused costs the peer 12 bytes.
  std::size_t unread_bytes_max = 2 * 1024 * 1024;
  std::size_t frames_queued_max = 4000;
  std::size_t continuations_max = 64;  // frames of one field block: CVE-2024-27316
  // Control frames that make no progress (SETTINGS, PING, PRIORITY, empty DATA...): burst limit.
  std::uint32_t idle_frames_max = 2000;
  std::uint32_t idle_frames_per_s_max = 200;   // sustained rate
  std::uint32_t settings_ack_ms_max = 10'000;  // RFC 9113, 6.5.3: for the peer's acknowledgement
  std::size_t acks_queued_max = 1000;          // unsent SETTINGS and PING acknowledgements
  // Streams that the peer resets ("rapid reset", CVE-2023-44487), or makes the server reset
  // (CVE-2025-8671), before they are answered.
  std::uint32_t resets_max = 500;        // burst limit
  std::uint32_t resets_per_s_max = 100;  // sustained rate
};

// Returns which value is out of range, or an empty string. Server::start() refuses such limits.
[[nodiscard]] std::string problem_of(const Limits& limits);

}  // namespace h2server
#pragma GCC visibility pop
