#include "http/h2/session.h"

#include <utility>

#include "http/h2/frame_receiver.h"
#include "http/h2/frame_sender.h"
#include "http/h2/streams.h"

namespace h2server::http::h2 {

namespace {

class NativeSession final : public Session {
 public:
  NativeSession(const Limits& limits, base::Pool<H2Exchange>& exchanges, WindowBudget* windows)
      : streams_(exchanges),
        sender_(limits, streams_),
        receiver_(limits, streams_, sender_, windows) {}

  void receive(std::string_view bytes, std::int64_t now_ms) override {
    receiver_.receive(bytes, now_ms);
  }

  bool next(SessionEvent& event) override {
    if (streams_.next_notification(event) || receiver_.next(event) ||
        streams_.next_notification(event)) {
      return true;
    }
    // RFC 9113, 6.8: what was sent before the client saw the first GOAWAY has arrived by now.
    if (draining_ && receiver_.take_pong() && !receiver_.failed()) end_at(streams_.last_id());
    return false;
  }

  void produce(std::size_t bytes_max) override {
    if (!receiver_.failed()) sender_.produce(bytes_max);
  }
  base::BufferChain& output() noexcept override { return sender_.output(); }
  bool failed() const noexcept override { return receiver_.failed(); }
  ConnectionError error() const noexcept override { return receiver_.error(); }
  bool finished() const noexcept override {
    return receiver_.failed() || (receiver_.goes_away() && streams_.alive() == 0);
  }
  bool acknowledged() const noexcept override { return receiver_.acknowledged(); }
  std::uint32_t unfinished_block() const noexcept override { return receiver_.unfinished_block(); }
  std::size_t bytes_gathered() const noexcept override { return receiver_.bytes_gathered(); }
  bool awaits_window(const H2Exchange& exchange) const noexcept override {
    return sender_.awaits_window(exchange);
  }
  bool awaits_window() const noexcept override { return sender_.awaits_window(); }
  bool may_receive() const noexcept override { return receiver_.may_receive(); }
  std::uint32_t unread() const noexcept override { return receiver_.unread(); }

  void respond(H2Exchange& exchange, const ResponseHead& head, bool has_body) override {
    if (!receiver_.failed()) sender_.respond(exchange, head, has_body);
  }
  void inform(H2Exchange& exchange, std::span<const Field> fields) override {
    if (!receiver_.failed()) sender_.inform(exchange, fields);
  }
  void body_offered(H2Exchange& exchange) override { sender_.body_offered(exchange); }
  void consume(H2Exchange& exchange, std::size_t bytes, Consumed by) override {
    receiver_.consume(&exchange, static_cast<std::uint32_t>(bytes), by);
  }
  void reset(H2Exchange& exchange, ErrorCode code) override {
    sender_.reset(exchange, code);
    if (is_client_caused(code)) receiver_.count_refusal();
  }

  void drain() override {
    if (std::exchange(draining_, true) || receiver_.failed()) return;
    sender_.goaway(receiver_.serve_up_to(largest_stream), ErrorCode::no_error);
    receiver_.ping_for_drain();
  }
  void end_after(const H2Exchange& exchange) override { end_at(exchange.id); }
  void terminate(ErrorCode code) override { receiver_.fail(code); }

 private:
  void end_at(std::uint32_t last_stream) {
    sender_.goaway(receiver_.serve_up_to(last_stream), ErrorCode::no_error);
  }

  Streams streams_;
  FrameSender sender_;
  FrameReceiver receiver_;
  bool draining_ = false;
};

}  // namespace

std::unique_ptr<Session> make_native_session(const Limits& limits,
                                             base::Pool<H2Exchange>& exchanges,
                                             WindowBudget* windows) {
  return std::make_unique<NativeSession>(limits, exchanges, windows);
}

}  // namespace h2server::http::h2
