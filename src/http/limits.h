// Every bound of the protocol layer, with its reason. Times are milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace h2server::http {

struct Limits {
  std::size_t request_line_bytes_max = 8 * 1024;  // RFC 9112, 3: at least 8000 are recommended
  std::size_t head_bytes_max = 32 * 1024;         // cookies and tokens fit; one head per connection
  std::size_t fields_max = 100;                   // browsers send about 20

  std::uint32_t handshake_ms_max = 10'000;  // TLS, with the choice of a protocol
  std::uint32_t head_ms_max = 15'000;       // from a head's first byte to its last: slow loris
  std::uint32_t idle_ms_max = 60'000;       // between requests: browsers reuse within a minute
  // A client that owes us content, or room for content of ours, has this much slack, of which each
  // byte earns a part back (base::Pace). So it may pause, but not dribble: in the long run it has
  // to move `bytes_per_s_min` on each stream, which the slowest lines do.
  std::uint32_t body_idle_ms_max = 60'000;  // for a request's body
  std::uint32_t send_idle_ms_max = 60'000;  // for taking a response
  std::uint32_t bytes_per_s_min = 240;
  // An HTTP/2 connection that only sends PINGs and the like: gRPC clients keep theirs open so.
  std::uint32_t quiet_ms_max = 600'000;
  std::uint32_t goaway_ms_max = 1'000;  // an idle HTTP/2 client that does not answer while we stop
  std::uint32_t linger_ms_max = 2'000;  // for the peer to read our last words

  // Then a connection is closed: "a process per request" is one of it. 0: never.
  std::uint64_t requests_per_connection = 0;

  // An unread body that is dropped to keep the connection; a longer one closes it.
  std::size_t drain_bytes_max = 256 * 1024;

  // Produced before it is sent: a few large system calls, little memory a connection.
  std::size_t output_bytes_max = 256 * 1024;
  // The same where bytes are copied: what a slow reader may hold of our memory.
  std::size_t copied_bytes_max = 128 * 1024;
  // A file's bytes up to this are copied beside the head: cheaper than a piece of their own.
  std::size_t inline_file_bytes_max = 8 * 1024;

  // A part of a mapped file from this size on goes by sendfile(), HTTP/1.1 in cleartext only. 0:
  // never. By itself it is not done: a peer on the same machine, which acknowledges what it has not
  // read, may be given pages that change meanwhile.
  std::uint64_t send_file_bytes_min = 0;

  std::uint32_t streams_max = 128;  // RFC 9113, 6.5.2: not below 100
  // RFC 9113, 6.9.2 starts at 64 KiB, which holds an upload to 64 KiB a round trip.
  std::int32_t stream_window_bytes = 1024 * 1024;
  std::int32_t connection_window_bytes = 2 * 1024 * 1024;  // bounds what streams may have unread
  // To what a stream's window grows with what the line holds, the connection's twice as much:
  // 1 Gbit/s over 120 ms. And what all connections' windows may gain together.
  std::int32_t stream_window_bytes_max = 16 * 1024 * 1024;
  static constexpr std::int64_t windows_gain_bytes_max = 512 * 1024 * 1024;
  // What a peer that does not read may make us say, in bytes; and, as libnghttp2 counts, in frames:
  // a request that is refused costs it 12 bytes.
  std::size_t unread_bytes_max = 2 * 1024 * 1024;
  std::size_t frames_queued_max = 4000;
  std::size_t continuations_max = 64;  // frames of one field block: CVE-2024-27316
  // SETTINGS, PING, PRIORITY, empty DATA...: frames that get nobody anywhere, at once...
  std::uint32_t idle_frames_max = 2000;
  std::uint32_t idle_frames_per_s_max = 200;   // ...and steadily
  std::uint32_t settings_ack_ms_max = 10'000;  // RFC 9113, 6.5.3: for the client to see ours
  std::size_t acks_queued_max = 1000;  // SETTINGS and PING answers that the peer does not read
  std::uint32_t resets_max =
      500;  // streams reset by the peer before they were answered, at once...
  std::uint32_t resets_per_s_max = 100;  // ...and steadily: "rapid reset", CVE-2023-44487
};

}  // namespace h2server::http
