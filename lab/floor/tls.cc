#include "floor/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/assert.h"

namespace h2server::lab::floor {

namespace {

constexpr std::size_t record_bytes_max = 16 * 1024;  // RFC 8446, 5.1

// No references to the body: each piece would become a record of its own.
constexpr FillLimits tls_limits{.bytes_max = 256 * 1024, .refer_to_body = false};

TlsChannel& channel_of(BIO* bio) { return *static_cast<TlsChannel*>(BIO_get_data(bio)); }

int read_records(BIO* bio, char* to, int bytes_max) {
  BIO_clear_retry_flags(bio);
  const std::size_t bytes = channel_of(bio).read(to, static_cast<std::size_t>(bytes_max));
  if (bytes > 0) return static_cast<int>(bytes);
  BIO_set_retry_read(bio);
  return -1;
}

int write_records(BIO* bio, const char* from, int bytes) {
  channel_of(bio).write({from, static_cast<std::size_t>(bytes)});
  return bytes;
}

// A flush always succeeds, because writes are not buffered.
long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

struct FreeMethod {
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};

BIO_METHOD* make_method() {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "floor");
  ASSERT(method != nullptr);
  BIO_meth_set_read(method, read_records);
  BIO_meth_set_write(method, write_records);
  BIO_meth_set_ctrl(method, control);
  return method;
}

BIO* make_bio(TlsChannel* channel) {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> method(make_method());
  BIO* const bio = BIO_new(method.get());
  ASSERT(bio != nullptr);  // fails only without memory
  BIO_set_data(bio, channel);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

void TlsChannel::Free::operator()(ssl_st* ssl) const noexcept { SSL_free(ssl); }

TlsChannel::TlsChannel(const net::TlsContext& context, TlsScratch& scratch)
    : scratch_(scratch), ssl_(SSL_new(context.get())) {
  ASSERT(ssl_ != nullptr);  // fails only without memory
  SSL* const ssl = ssl_.get();
  BIO* const bio = make_bio(this);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  SSL_set_read_ahead(ssl, 1);  // takes all received bytes at once
  // The context is the server's. Its modes save memory of idle connections but cost time, and
  // SSL_write() to memory is never partial.
  SSL_clear_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  scratch_.received.resize(record_bytes_max);
}

std::size_t TlsChannel::read(char* to, std::size_t bytes_max) {
  const std::size_t bytes = std::min(bytes_max, input_.size());
  if (bytes > 0) std::memcpy(to, input_.data(), bytes);
  input_.remove_prefix(bytes);
  return bytes;
}

void TlsChannel::write(std::string_view records) {
  if (target_ != nullptr) {
    target_->copy(records);
  } else {
    early_ += records;
  }
}

bool TlsChannel::receive(std::string_view records, Session& session) {
  SSL* const ssl = ssl_.get();
  input_ = records;
  while (true) {
    const int bytes =
        SSL_read(ssl, scratch_.received.data(), static_cast<int>(scratch_.received.size()));
    if (bytes <= 0) {
      const bool waiting = SSL_get_error(ssl, bytes) == SSL_ERROR_WANT_READ;
      ERR_clear_error();
      return waiting;
    }
    session.receive({scratch_.received.data(), static_cast<std::size_t>(bytes)});
    // Avoids a call that would only report that there is no more.
    if (input_.empty() && SSL_has_pending(ssl) == 0) return true;
  }
}

void TlsChannel::fill(Session& session, Output& output) {
  SSL* const ssl = ssl_.get();
  output.copy(early_);
  early_.clear();
  if (SSL_in_init(ssl) != 0) return;
  Output& plain = scratch_.plain;
  plain.clear();
  session.fill(plain, tls_limits);
  target_ = &output;
  while (plain.bytes() > 0) {
    const iovec piece = plain.pieces().front();
    const int bytes = static_cast<int>(piece.iov_len);
    const int written = SSL_write(ssl, piece.iov_base, bytes);
    ASSERT(written == bytes);  // memory takes all of it
    plain.sent(piece.iov_len);
  }
  if (session.finished() && !closed_) {
    closed_ = true;
    SSL_shutdown(ssl);
  }
  target_ = nullptr;
}

}  // namespace h2server::lab::floor
