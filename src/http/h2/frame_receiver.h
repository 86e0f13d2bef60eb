// FrameReceiver: input of the native session. Turns bytes into frames and frames into events (RFC
// 9113, 4 to 6), and answers through the FrameSender.
//
// Content is passed on without copying. Other payloads are buffered if they arrive in parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory/gathered_bytes.h"
#include "http/h2/flood_guard.h"
#include "http/h2/flow.h"
#include "http/h2/frame.h"
#include "http/h2/frame_sender.h"
#include "http/h2/hpack/decoder.h"
#include "http/h2/repeated_head.h"
#include "http/h2/request_head.h"
#include "http/h2/streams.h"
#include "http/h2/window_growth.h"

namespace h2server::http::h2 {

class FrameReceiver {
 public:
  // All must outlive the receiver. `windows` may be null.
  FrameReceiver(const Limits& limits, Streams& streams, FrameSender& sender, WindowBudget* windows);

  void receive(std::string_view bytes, std::int64_t now_ms) noexcept;
  [[nodiscard]] bool next(SessionEvent& event);

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  // Once it has failed.
  [[nodiscard]] ConnectionError error() const noexcept { return guard_.error_of(error_); }
  // Sends GOAWAY with `code` and stops reading.
  void fail(ErrorCode code);
  // Counts a stream that was refused for what the client has begun, like one that it resets.
  void count_refusal() {
    if (!guard_.allow_reset()) fail(ErrorCode::enhance_your_calm);
  }
  // Ignores streams above `id`. Returns the limit for the GOAWAY, which never increases (RFC 9113,
  // 6.8).
  std::uint32_t serve_up_to(std::uint32_t id) noexcept {
    return last_served_ = std::min(last_served_, id);
  }
  [[nodiscard]] std::uint32_t last_served() const noexcept;
  [[nodiscard]] bool goes_away() const noexcept {
    return peer_goes_ || last_served_ != largest_stream;
  }
  [[nodiscard]] bool acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] bool may_receive() const noexcept { return window_.left() > 0; }
  [[nodiscard]] std::uint32_t unread() const noexcept { return window_.unread(); }
  // See Session. An incomplete frame other than DATA, or an incomplete frame head, counts too: no
  // client splits those on purpose.
  [[nodiscard]] std::uint32_t unfinished_block() const noexcept {
    const bool in_frame = state_ == State::payload || !(partial_.empty() || partial_taken_);
    return block_stream_ != 0 || in_frame ? frames_ : 0;
  }
  // What frames and blocks hold that are not whole.
  [[nodiscard]] std::size_t bytes_gathered() const noexcept {
    return partial_.bytes_held() + block_.bytes_held();
  }
  // Returns true, once, if the peer has answered the PING of ping_for_drain().
  [[nodiscard]] bool take_pong() noexcept { return std::exchange(ponged_, false); }

  void consume(H2Exchange* exchange, std::uint32_t bytes, Consumed by = Consumed::dropped);
  // Sends a PING whose answer shows that the peer has seen what was sent before.
  void ping_for_drain();

 private:
  enum class State : std::uint8_t { opening, head, payload, content, padding, skipping };

  // Parsing, one step for each state.
  [[nodiscard]] const char* take(std::size_t size);
  bool take_preface();
  bool take_head();
  bool take_payload(SessionEvent& event);
  bool take_content(SessionEvent& event);
  bool skip();
  bool fail_for(ErrorCode code) {
    fail(code);
    return false;
  }
  bool reset_for_violation(H2Exchange& exchange, ErrorCode code);
  // Counts a frame that makes no progress. Fails and returns false if there are too many.
  bool allow_idle_frame();

  // Both return false if the session failed.
  bool begin_frame();
  bool begin_data();

  // Handlers of a whole payload or block. Those with `event` return true if they have set it, the
  // others false if the session failed. ignore_block() always returns false: no event.
  bool on_headers(std::string_view payload, SessionEvent& event);
  bool on_continuation(std::string_view payload, SessionEvent& event);
  bool on_block(std::string_view block, SessionEvent& event);
  bool on_request(std::string_view block, SessionEvent& event);
  bool on_trailers(H2Exchange& exchange, std::string_view block, SessionEvent& event);
  bool on_stream_end(H2Exchange& exchange, SessionEvent& event);
  enum class Decoded : std::uint8_t { good, malformed, failed };
  Decoded decode(std::string_view block, RequestHeadBuilder* builder);
  Decoded decode_head(std::string_view block, H2Exchange& exchange);
  bool ignore_block(std::string_view block);
  bool on_other(std::string_view payload);
  bool on_priority(std::string_view payload);
  bool on_priority_update(std::string_view payload);
  bool on_rst_stream(std::string_view payload);
  bool on_settings(std::string_view payload);
  bool apply(Setting setting, std::uint32_t value);
  bool on_ping(std::string_view payload);
  bool on_goaway(std::string_view payload);
  bool on_window_update(std::string_view payload);
  void begin_upload(const H2Exchange& exchange);
  void announce_connection();
  [[nodiscard]] std::uint64_t missing();
  void measure();
  void widen_windows();
  void remember_priority(std::uint32_t id, Priority priority);
  void recall_priority(H2Exchange& exchange);

  const Limits& limits_;
  Streams& streams_;
  FrameSender& sender_;
  hpack::Decoder decoder_;
  const std::uint64_t connection_ = RepeatedHead::next_connection();
  RequestHeadBuilder builder_;
  ReceiveWindow window_;  // of the connection
  WindowGrowth growth_;
  FloodGuard guard_;
  std::string_view input_;
  base::GatheredBytes partial_;  // start of a preface, frame head or payload
  base::GatheredBytes block_;    // of HEADERS that CONTINUATIONs follow
  std::vector<std::pair<std::uint32_t, Priority>> priorities_;  // of streams not yet opened
  FrameHead frame_;
  std::uint32_t left_ = 0;     // bytes left of the frame's content
  std::uint32_t padding_ = 0;  // bytes of padding after the content
  std::uint32_t last_served_ = largest_stream;
  std::uint32_t block_stream_ = 0;  // whose field block is incomplete; 0: none
  std::uint32_t continuations_ = 0;
  std::uint32_t frames_ = 1;  // begun so far, without CONTINUATIONs; never 0
  State state_ = State::opening;
  bool block_ends_stream_ = false;
  bool partial_taken_ = false;
  bool settled_ = false;  // the peer's first SETTINGS have arrived
  bool acknowledged_ = false;
  bool peer_goes_ = false;
  bool ponged_ = false;
  bool failed_ = false;
  ErrorCode error_ = ErrorCode::no_error;  // once it has failed
};

}  // namespace h2server::http::h2
