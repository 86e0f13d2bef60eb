// SpdySession: the server's side of SPDY/3.1 behind the interface of HTTP/2's sessions, so that the
// connections, handlers and files of h2server serve it. Without I/O and without a clock. Not
// thread-safe.
//
// What differs from HTTP/2 as its users see it: an interim response is not sent, since a stream has
// one SYN_REPLY; GOAWAY names the last stream at once, so that clients retry later ones; there is
// no acknowledgement of SETTINGS; receive windows keep the sizes of Limits, 64 KiB at least.
// Streams that the server opens (server push) are not implemented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/h2/flood_guard.h"
#include "http/h2/flow.h"
#include "http/h2/priority.h"
#include "http/h2/request_head.h"
#include "http/h2/session.h"
#include "http/h2/streams.h"
#include "spdy/frame.h"
#include "spdy/header_block.h"
#include "spdy/request_head.h"

namespace h2server::lab::spdy {

namespace h2 = http::h2;
using h2::H2Exchange;

class SpdySession final : public h2::Session {
 public:
  // Both must outlive the session.
  SpdySession(const Limits& limits, base::Pool<H2Exchange>& exchanges);

  void receive(std::string_view bytes, std::int64_t now_ms) override;
  bool next(h2::SessionEvent& event) override;
  void produce(std::size_t bytes_max) override;
  base::BufferChain& output() noexcept override { return out_; }
  bool failed() const noexcept override { return failed_; }
  http::ConnectionError error() const noexcept override { return guard_.error_of(error_); }
  bool finished() const noexcept override;
  bool acknowledged() const noexcept override { return true; }
  std::uint32_t unfinished_block() const noexcept override { return reader_.unfinished(); }
  bool awaits_window(const H2Exchange& exchange) const noexcept override {
    return exchange.stream.has_body && exchange.stream.send.left() == 0;
  }
  bool awaits_window() const noexcept override { return send_window_.left() == 0; }
  bool may_receive() const noexcept override { return window_.left() > 0; }
  std::uint32_t unread() const noexcept override { return window_.unread(); }

  void respond(H2Exchange& exchange, const h2::ResponseHead& head, bool has_body) override;
  void inform(H2Exchange&, std::span<const Field>) override {}
  void body_offered(H2Exchange& exchange) override;
  void consume(H2Exchange& exchange, std::size_t bytes, http::h2::Consumed by) override;
  void reset(H2Exchange& exchange, h2::ErrorCode code) override;
  void drain() override;
  void end_after(const H2Exchange& exchange) override { go_away(exchange.id); }
  void terminate(h2::ErrorCode code) override { fail(code); }

 private:
  static constexpr std::uint32_t drain_ping = 2;  // SPDY, 2.6.5: a server's are even

  // session.cc
  void fail(h2::ErrorCode code);
  void go_away(std::uint32_t last_stream);
  void release(H2Exchange* exchange, std::uint32_t bytes);
  void reset_with(H2Exchange& exchange, StreamStatus status);
  void drop(H2Exchange& exchange);

  // session_receive.cc. Those with `event` return true if they have set it.
  bool on_frame(FrameReader::Step step, h2::SessionEvent& event);
  bool on_control(h2::SessionEvent& event);
  bool on_data(h2::SessionEvent& event);
  bool on_data_end(h2::SessionEvent& event);
  bool on_syn_stream(std::string_view payload, h2::SessionEvent& event);
  bool open(std::uint32_t id, h2::Priority priority, h2::SessionEvent& event);
  void answer_bad_request(H2Exchange& exchange);
  bool on_headers(std::string_view payload, h2::SessionEvent& event);
  bool on_stream_end(H2Exchange& exchange, h2::SessionEvent& event);
  void on_rst_stream(std::string_view payload);
  void on_settings(std::string_view payload);
  void on_ping(std::string_view payload);
  void on_goaway(std::string_view payload);
  void on_window_update(std::string_view payload);
  bool decompress(std::string_view block);
  void refuse(std::uint32_t id, StreamStatus status);
  void reset_for_violation(H2Exchange& exchange, StreamStatus status);
  void on_unknown_stream(std::uint32_t id);
  void count_idle_frame();
  void count_reset();
  [[nodiscard]] std::uint32_t stream_window_bytes() const noexcept;

  // session_send.cc
  void set_initial_window(std::uint32_t bytes);
  void schedule(H2Exchange& exchange);
  [[nodiscard]] std::string_view content_at_once(const H2Exchange& exchange) const noexcept;
  bool send_data(H2Exchange& exchange, std::size_t room);
  void want_body(H2Exchange& exchange) noexcept;
  void append_data(H2Exchange& exchange, std::size_t size);
  void append_fields(FrameType type, std::uint32_t id, std::span<const Field> fields, bool ends);
  void append_last_data(std::uint32_t id, std::string_view content);
  void take_send_window(H2Exchange& exchange, std::size_t size) noexcept;
  void end_body(H2Exchange& exchange);
  void end_local(H2Exchange& exchange);

  const Limits& limits_;
  h2::Streams streams_;
  FrameReader reader_;
  Decompressor decompressor_;
  Compressor compressor_;
  h2::RequestHeadBuilder builder_;
  h2::FloodGuard guard_;
  h2::Scheduler scheduler_;
  h2::ReceiveWindow window_{default_window_bytes};    // of the connection
  h2::SendWindow send_window_{default_window_bytes};  // of the connection
  base::BufferChain out_;
  std::uint32_t initial_window_ = default_window_bytes;  // of the client's SETTINGS
  std::uint32_t last_served_ = largest_stream;
  bool begun_ = false;      // a frame of the client has arrived
  bool peer_goes_ = false;  // the client has sent GOAWAY
  bool draining_ = false;
  bool awaits_pong_ = false;  // the answer to the PING after the GOAWAY of drain()
  bool failed_ = false;
  h2::ErrorCode error_ = h2::ErrorCode::no_error;  // once it has failed
};

// As http::h2::SessionMaker. The windows do not grow.
std::unique_ptr<h2::Session> make_spdy_session(const Limits& limits,
                                               base::Pool<H2Exchange>& exchanges,
                                               http::WindowBudget* windows);

}  // namespace h2server::lab::spdy
