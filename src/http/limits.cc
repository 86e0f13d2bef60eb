#include "h2server/limits.h"

#include <fmt/format.h>

#include <concepts>
#include <limits>

namespace h2server {

namespace {

template <std::integral T>
struct Bound {
  const char* name;
  T value;
  T least;
  T most = std::numeric_limits<T>::max();
};

// Appends a sentence to `problem` unless the value lies within its bounds.
template <std::integral T>
void check_bound(std::string& problem, const Bound<T>& bound) {
  if (!problem.empty() || (bound.value >= bound.least && bound.value <= bound.most)) return;
  problem = fmt::format("the limit {} is {}: it must lie between {} and {}", bound.name,
                        bound.value, bound.least, bound.most);
}

}  // namespace

std::string problem_of(const Limits& limits) {
  std::string problem;
  using Size = Bound<std::size_t>;
  for (const Size& bound : {
           Size{"request_line_bytes_max", limits.request_line_bytes_max, 16},
           Size{"head_bytes_max", limits.head_bytes_max, 64, 1U << 24},
           Size{"fields_max", limits.fields_max, 1, 65535},
           Size{"heads_bytes_max", limits.heads_bytes_max, 4096},
           // Less than a frame and its head, and nothing could be sent.
           Size{"output_bytes_max", limits.output_bytes_max, 32 * 1024},
           Size{"copied_bytes_max", limits.copied_bytes_max, 32 * 1024},
           Size{"unread_bytes_max", limits.unread_bytes_max, 16 * 1024},
           Size{"frames_queued_max", limits.frames_queued_max, 1},
           Size{"continuations_max", limits.continuations_max, 1},
           Size{"acks_queued_max", limits.acks_queued_max, 1},
       }) {
    check_bound(problem, bound);
  }
  using Count = Bound<std::uint32_t>;
  // To an engine, 0 means no deadline.
  for (const Count& bound : {
           Count{"handshake_ms_max", limits.handshake_ms_max, 1},
           Count{"head_ms_max", limits.head_ms_max, 1},
           Count{"idle_ms_max", limits.idle_ms_max, 1},
           Count{"body_idle_ms_max", limits.body_idle_ms_max, 1},
           Count{"send_idle_ms_max", limits.send_idle_ms_max, 1},
           Count{"bytes_per_s_min", limits.bytes_per_s_min, 1},
           Count{"quiet_ms_max", limits.quiet_ms_max, 1},
           Count{"goaway_ms_max", limits.goaway_ms_max, 1},
           Count{"linger_ms_max", limits.linger_ms_max, 1},
           Count{"settings_ack_ms_max", limits.settings_ack_ms_max, 1},
           // RFC 9113, 5.1.1: a client's stream identifiers are odd numbers of 31 bits.
           Count{"streams_max", limits.streams_max, 1, 1U << 30},
           Count{"idle_frames_max", limits.idle_frames_max, 1},
           Count{"idle_frames_per_s_max", limits.idle_frames_per_s_max, 1},
           Count{"resets_max", limits.resets_max, 1},
           Count{"resets_per_s_max", limits.resets_per_s_max, 1},
       }) {
    check_bound(problem, bound);
  }
  // RFC 9113, 6.9.2: a connection's window begins with 65535 bytes and can't be made smaller.
  using Window = Bound<std::int32_t>;
  for (const Window& bound : {
           Window{"stream_window_bytes", limits.stream_window_bytes, 1},
           Window{"connection_window_bytes", limits.connection_window_bytes, 65535},
           // The connection's window grows by as much, in 31 bits.
           Window{"stream_window_bytes_max", limits.stream_window_bytes_max,
                  limits.stream_window_bytes, std::numeric_limits<std::int32_t>::max() / 2},
       }) {
    check_bound(problem, bound);
  }
  check_bound(problem,
              Bound<std::int64_t>{"windows_gain_bytes_max", limits.windows_gain_bytes_max, 0});
  return problem;
}

}  // namespace h2server
