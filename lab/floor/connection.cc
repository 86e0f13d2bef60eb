#include "floor/connection.h"

namespace h2server::lab::floor {

Connection::Connection(const LoopOptions& options, TlsScratch& scratch)
    : session_(options.answers),
      tls_(options.tls == nullptr ? nullptr : std::make_unique<TlsChannel>(*options.tls, scratch)) {
}

bool Connection::receive(std::string_view bytes) {
  if (tls_ != nullptr) return tls_->receive(bytes, session_);
  session_.receive(bytes);
  return true;
}

void Connection::fill(Output& to) {
  if (tls_ != nullptr) return tls_->fill(session_, to);
  session_.fill(to, {});
}

}  // namespace h2server::lab::floor
