// FrameSender: output of the native session. Control frames and heads are queued in the order of
// the calls. produce() adds the bodies of responses as priorities and windows allow.
//
// Does no I/O: the connection takes output().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "http/h2/flow.h"
#include "http/h2/frame.h"
#include "http/h2/hpack/encoder.h"
#include "http/h2/priority.h"
#include "http/h2/streams.h"

namespace h2server::http::h2 {

class FrameSender {
 public:
  // Both must outlive the sender.
  FrameSender(const Limits& limits, Streams& streams) noexcept
      : limits_(limits), streams_(streams) {}

  [[nodiscard]] base::BufferChain& output() noexcept { return out_; }
  // Returns true if more than unread_bytes_max is unsent: the peer does not read.
  [[nodiscard]] bool overfull() const noexcept { return out_.size() > limits_.unread_bytes_max; }

  void settings();
  void acknowledge_settings();
  void ping(std::string_view payload, bool acknowledges);
  void goaway(std::uint32_t last_stream, ErrorCode code);
  void window_update(std::uint32_t id, std::uint32_t increment);
  // Resets a stream that is not alive.
  void reset(std::uint32_t id, ErrorCode code);
  void reset(H2Exchange& exchange, ErrorCode code);
  // Closes the stream without sending a frame.
  void drop(H2Exchange& exchange);

  void respond(H2Exchange& exchange, const ResponseHead& head, bool has_body);
  void inform(H2Exchange& exchange, std::span<const Field> fields);
  void body_offered(H2Exchange& exchange);
  void produce(std::size_t bytes_max);

  // The peer's SETTINGS, WINDOW_UPDATE and priorities. set_initial_window() and widen() return
  // false if a window exceeds 2^31-1.
  void set_table_bytes_max(std::uint32_t bytes) { encoder_.set_table_bytes_max(bytes); }
  [[nodiscard]] bool set_initial_window(std::uint32_t bytes);
  [[nodiscard]] std::uint32_t initial_window() const noexcept { return initial_window_; }
  [[nodiscard]] bool widen(std::uint32_t increment) noexcept { return window_.add(increment); }
  [[nodiscard]] bool widen(H2Exchange& exchange, std::uint32_t increment);
  void set_priority(H2Exchange& exchange, Priority priority);
  [[nodiscard]] bool awaits_window(const H2Exchange& exchange) const noexcept {
    return exchange.stream.has_body && exchange.stream.send.left() == 0;
  }
  [[nodiscard]] bool awaits_window() const noexcept { return window_.left() == 0; }

 private:
  // The common fields of prepared heads with the date and a head's other fields, as encoded before,
  // and then the rest of one such head. Valid while the encoder's version is the same.
  struct EncodedHead {
    std::int64_t date_s = 0;
    std::uint64_t version = 0;  // Encoder::version()
    std::string others;         // of each other field the name, NUL, the value, NUL
    std::uint64_t rest_of = 0;  // the number of the prepared head; 0: none
    std::uint64_t last = 0;     // the number of the head that was encoded last
    std::uint8_t size = 0;      // without the rest; 0: none
    std::uint8_t whole_size = 0;
    std::array<char, 38> bytes{};
  };

  void append_frame(FrameHead head, std::string_view payload);
  void append_block(std::uint32_t id, const ResponseHead& head, bool ends,
                    std::string_view content = {});
  void append_large_block(std::uint32_t id, const ResponseHead& head, bool ends);
  char* encode_block(char* to, const ResponseHead& head);
  char* encode_prepared(char* to, const PreparedHead& head);
  char* encode_after_kept(char* block, const PreparedHead& head);
  void keep_encoded(const ResponseHead& head, std::uint64_t version, std::string_view block);
  [[nodiscard]] bool is_encoded(const ResponseHead& head) const noexcept;

  void schedule(H2Exchange& exchange);
  [[nodiscard]] std::string_view content_at_once(const H2Exchange& exchange) const noexcept;
  bool send_data(H2Exchange& exchange, std::size_t room);
  void want_body(H2Exchange& exchange) noexcept;
  void take_window(H2Exchange& exchange, std::size_t size) noexcept;
  void append_data(H2Exchange& exchange, std::size_t size);
  void end_body(H2Exchange& exchange);
  void end_local(H2Exchange& exchange);

  const Limits& limits_;
  Streams& streams_;
  base::BufferChain out_;
  hpack::Encoder encoder_;
  EncodedHead encoded_;
  Scheduler scheduler_;
  SendWindow window_;  // of the connection
  std::uint32_t initial_window_ = default_window_bytes;
};

}  // namespace h2server::http::h2
