#include "http/h2/native_session.h"

#include <utility>

#include "http/h2/receiver.h"
#include "http/h2/sender.h"
#include "http/h2/streams.h"

namespace h2server::http::h2 {

namespace {

class NativeSession final : public Session {
 public:
  NativeSession(const Limits& limits, base::Pool<Transfer>& transfers, WindowBudget* windows)
      : streams_(transfers),
        sender_(limits, streams_),
        receiver_(limits, streams_, sender_, windows) {}

  void receive(std::string_view bytes, std::int64_t now_ms) override {
    receiver_.receive(bytes, now_ms);
  }

  bool next(SessionEvent& event) override {
    if (streams_.next_told(event) || receiver_.next(event) || streams_.next_told(event)) {
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
  bool finished() const noexcept override {
    return receiver_.failed() || (receiver_.goes_away() && streams_.alive() == 0);
  }
  bool acknowledged() const noexcept override { return receiver_.acknowledged(); }
  std::uint32_t unfinished_block() const noexcept override { return receiver_.unfinished_block(); }
  bool awaits_window(const Transfer& transfer) const noexcept override {
    return sender_.awaits_window(transfer);
  }
  bool awaits_window() const noexcept override { return sender_.awaits_window(); }
  bool may_receive() const noexcept override { return receiver_.may_receive(); }

  void respond(Transfer& transfer, const ResponseHead& head, bool has_body) override {
    if (!receiver_.failed()) sender_.respond(transfer, head, has_body);
  }
  void inform_continue(Transfer& transfer) override {
    if (!receiver_.failed()) sender_.inform_continue(transfer);
  }
  void body_offered(Transfer& transfer) override { sender_.body_offered(transfer); }
  void consume(Transfer& transfer, std::size_t bytes) override {
    receiver_.consume(&transfer, static_cast<std::uint32_t>(bytes));
  }
  void reset(Transfer& transfer, ErrorCode code) override { sender_.reset(transfer, code); }

  void drain() override {
    if (std::exchange(draining_, true) || receiver_.failed()) return;
    sender_.goaway(receiver_.serve_up_to(largest_stream), ErrorCode::no_error);
    receiver_.ping_for_drain();
  }
  void end_after(const Transfer& transfer) override { end_at(transfer.id); }
  void terminate(ErrorCode code) override { receiver_.fail(code); }

 private:
  void end_at(std::uint32_t last_stream) {
    sender_.goaway(receiver_.serve_up_to(last_stream), ErrorCode::no_error);
  }

  Streams streams_;
  Sender sender_;
  Receiver receiver_;
  bool draining_ = false;
};

}  // namespace

std::unique_ptr<Session> make_native_session(const Limits& limits, base::Pool<Transfer>& transfers,
                                             WindowBudget* windows) {
  return std::make_unique<NativeSession>(limits, transfers, windows);
}

}  // namespace h2server::http::h2
