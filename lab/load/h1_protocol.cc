// HTTP/1.1 protocol: one exchange at a time.
#include <algorithm>

#include "base/assert.h"
#include "load/h1_response.h"
#include "load/protocol.h"

namespace h2server::lab::load {

namespace {

class H1Protocol final : public Protocol {
 public:
  H1Protocol(RequestPlan& plan, ProtocolUser& user) : plan_(plan), user_(user) {}

  void begin() override {}
  bool ready() const noexcept override { return true; }
  std::size_t room() const noexcept override { return busy_ || over_ ? 0 : 1; }
  std::size_t under_way() const noexcept override { return busy_ ? 1 : 0; }
  bool over() const noexcept override { return over_; }

  void submit(const Exchange& exchange, base::BufferChain& out) override;
  ErrorKind receive(std::string_view bytes) override;
  ErrorKind produce(base::BufferChain& out) override;
  ErrorKind end() override;
  void fail(ErrorKind error) override;

 private:
  void validate(ErrorKind error);

  RequestPlan& plan_;
  ProtocolUser& user_;
  H1Response response_;
  Exchange exchange_;
  Upload upload_;
  bool busy_ = false;
  bool over_ = false;
};

void H1Protocol::submit(const Exchange& exchange, base::BufferChain& out) {
  ASSERT(room() > 0);
  exchange_ = exchange;
  if (plan_.spec().has_upload) upload_ = plan_.upload(exchange.number);
  out.append(plan_.head(exchange.number, upload_.size()));
  response_.reset(plan_.to_head());
  busy_ = true;
}

ErrorKind H1Protocol::produce(base::BufferChain& out) {
  while (busy_ && upload_.left() > 0 && out.size() < out_bytes_max) {
    const Upload::Piece piece = upload_.take(out_bytes_max);
    if (piece.lasting) {
      out.append_shared(piece.bytes, nullptr);
    } else {
      out.append(piece.bytes);
    }
  }
  return ErrorKind::none;
}

ErrorKind H1Protocol::receive(std::string_view bytes) {
  if (bytes.empty()) return ErrorKind::none;
  if (!busy_) return ErrorKind::malformed;  // unsolicited
  switch (response_.receive(bytes)) {
    case H1Response::Verdict::need_more:
      return ErrorKind::none;
    case H1Response::Verdict::malformed:
      return ErrorKind::malformed;
    case H1Response::Verdict::complete:
      break;
  }
  const bool early = upload_.left() > 0;
  over_ = early || !response_.keeps_connection();
  // Bytes after the response were sent before the next request.
  if (!bytes.empty()) return ErrorKind::malformed;
  validate(early ? ErrorKind::early : ErrorKind::none);
  return ErrorKind::none;
}

void H1Protocol::validate(ErrorKind error) {
  busy_ = false;
  user_.on_outcome(exchange_, {.error = error,
                               .status = response_.status(),
                               .body_bytes_in = response_.body_bytes(),
                               .body_bytes_out = upload_.sent()});
}

ErrorKind H1Protocol::end() {
  over_ = true;
  if (!busy_) return ErrorKind::none;
  const bool begun = response_.begun();
  if (response_.end() != H1Response::Verdict::complete) {
    return begun ? ErrorKind::truncated : ErrorKind::closed;
  }
  validate(upload_.left() > 0 ? ErrorKind::early : ErrorKind::none);
  return ErrorKind::none;
}

void H1Protocol::fail(ErrorKind error) {
  over_ = true;
  if (busy_) validate(error);
}

}  // namespace

std::unique_ptr<Protocol> make_h1(RequestPlan& plan, ProtocolUser& user) {
  return std::make_unique<H1Protocol>(plan, user);
}

}  // namespace h2server::lab::load
