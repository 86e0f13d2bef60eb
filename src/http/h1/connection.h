// An HTTP/1.x connection (RFC 9112): reads requests, has them answered, writes the responses.
//
// All requests of one receive are answered in one write. One coroutine, so a request at a time; a
// handler that waits makes those behind it wait, as the protocol demands.
#pragma once

#include <optional>
#include <string>

#include "base/buffer_chain.h"
#include "http/h1/body_decoder.h"
#include "http/h1/parser.h"
#include "http/service.h"
#include "io/lease.h"
#include "net/stream.h"

namespace h2server::http::h1 {

class Connection final : private Drainable {
 public:
  // Both outlive the connection.
  Connection(net::Stream& stream, Service& service, bool encrypted);
  ~Connection();

  // Until the connection is done with. `early` and then `first` are what has been read already.
  Task<void> run(std::string early, io::Lease first);

 private:
  // How the connection ends after the exchange at hand.
  enum class End : std::uint8_t {
    open,    // it does not
    finish,  // all was said
    linger,  // the peer may still be sending
    abort,   // a response can't be completed: the peer must see that
  };

  // The body of the request at hand, as the handler reads it.
  class IncomingBody final : public BodySource {
   public:
    explicit IncomingBody(Connection& connection) : connection_(connection) {}
    Task<Result<std::string_view>> read() override;

   private:
    Connection& connection_;
  };

  void drain() override;

  Parser::Verdict parse();
  Task<bool> wait_for_head();
  void take(io::Lease lease) noexcept;
  void refuse(int status);

  bool serve_at_once();
  Task<void> serve_on();
  void begin_exchange();
  void begin_response();
  Task<bool> send_body();
  bool append_body();
  Task<bool> pull_more();
  Task<bool> drop_request_body();
  void drop_arrived_body();
  void end_exchange() noexcept;

  [[nodiscard]] bool must_close_after_response() const noexcept;
  [[nodiscard]] std::size_t output_bytes_max() const noexcept;
  Task<bool> flush();

  net::Stream& stream_;
  Service& service_;
  const bool encrypted_;
  End end_ = End::open;
  bool idle_ = false;  // waiting for a request of which nothing has arrived

  io::Lease lease_;
  std::string_view input_;   // of lease_: not parsed yet
  std::string head_buffer_;  // a head that came in several leases
  std::int64_t head_due_ms_ = 0;
  Parser parser_;
  base::BufferChain output_;

  // Of the exchange at hand.
  base::Pool<Exchange>::Pointer exchange_;
  const Handler* handler_ = nullptr;  // that has not answered yet
  IncomingBody incoming_{*this};
  BodyDecoder decoder_{Framing{}};
  std::size_t dropped_ = 0;  // bytes of the request's body that nobody read
  bool owes_continue_ = false;
};

}  // namespace h2server::http::h1
