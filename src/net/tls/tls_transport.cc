#include "net/tls/tls_transport.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/c_callback.h"
#include "base/clock.h"
#include "base/out_of_memory.h"
#include "net/certs/tls_challenges.h"

namespace h2server::net {

namespace {

// Content of a record. Four of them with their overhead fill one packet of 64 KiB, the most that
// the kernel passes to a network card, or through loopback, at once. Four of 16 KiB exceed it.
constexpr std::size_t record_bytes = 16'000;
// The peer can use a record only when all of it has arrived. While the congestion window is small,
// and after a pause, which shrinks it again, a record fits in one packet: 1500 bytes, less 72 for
// IPv6, TCP and its timestamps, and 29 for the record's overhead.
constexpr std::size_t small_record_bytes = 1390;
constexpr std::size_t small_records_bytes = 64 * 1024;  // the window after a few round trips
constexpr std::int64_t pause_ms = 1000;
// Content per send: enough to make the system call cheap relative to the encryption, few enough to
// stay in the cache (100 MB: eight records cost 14 % more CPU time than four, two 8 %).
constexpr std::size_t batch_bytes = 4 * record_bytes;
// Maximum unsent output: a batch, and answers to a peer that requests new keys repeatedly (RFC
// 8446, 4.6.3) without reading them.
constexpr std::size_t answers_bytes_max = 2 * batch_bytes;

// For a client that used http:// by mistake. After an alert it would show an empty page.
constexpr std::string_view answer_to_plain_http =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 62\r\n"
    "Connection: close\r\n\r\nThis port speaks HTTPS: put https:// in front of the address.\n";

// Returns OpenSSL's reason for the failure of the last call, and clears its error queue.
int reason_of_failure() {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  ERR_clear_error();
  if (reason == ERR_R_MALLOC_FAILURE) base::out_of_memory();
  return reason;
}

HandshakeFailure failure_of(int reason) noexcept {
  if (reason > SSL_AD_REASON_OFFSET) return HandshakeFailure::alert;
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return HandshakeFailure::no_common_choice;
    default:
      return HandshakeFailure::other;
  }
}

}  // namespace

// The callbacks through which OpenSSL reads and writes a transport's buffers.
struct TlsBio {
  static TlsTransport& transport(BIO* bio) {
    return *static_cast<TlsTransport*>(BIO_get_data(bio));
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
      if (fresh == nullptr) base::out_of_memory();
      BIO_meth_set_read_ex(fresh, base::c_callback<read>);
      BIO_meth_set_write_ex(fresh, base::c_callback<write>);
      BIO_meth_set_ctrl(fresh, control);
      return fresh;
    }();
    return made;
  }

  static int read(BIO* bio, char* out, std::size_t size, std::size_t* done) {
    std::string_view& input = transport(bio).input_;
    BIO_clear_retry_flags(bio);
    if (input.empty()) {
      BIO_set_retry_read(bio);
      return 0;
    }
    *done = std::min(size, input.size());
    std::memcpy(out, input.data(), *done);
    input.remove_prefix(*done);
    return 1;
  }

  static int write(BIO* bio, const char* bytes, std::size_t size, std::size_t* done) {
    transport(bio).encrypted_.append({bytes, size});
    *done = size;
    return 1;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
};

TlsTransport::TlsTransport(io::Engine& engine, base::Fd connection, const TlsContext& context)
    : tcp_(engine, std::move(connection)),
      own_records_(context.own_records()),
      ssl_(SSL_new(context.get()), SSL_free) {
  BIO* const bio = BIO_new(TlsBio::method());
  if (ssl_ == nullptr || bio == nullptr) base::out_of_memory();
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
}

TlsTransport::~TlsTransport() = default;

Task<Result<void>> TlsTransport::handshake(std::uint32_t timeout_ms, std::uint32_t linger_ms) {
  linger_ms_ = linger_ms;
  std::optional<TlsHandover> handover;
  if (own_records_) handover.emplace(ssl_.get());
  const Result<void> done = co_await shake_hands(timeout_ms);
  handshake_memory_.set(0);
  if (done) end_handshake(handover ? &*handover : nullptr);
  handover.reset();  // before the object that it refers to
  if (records_ != nullptr) ssl_.reset();
  co_return done;
}

Task<Result<void>> TlsTransport::shake_hands(std::uint32_t timeout_ms) {
  // One deadline for the whole handshake: single bytes do not prolong it.
  const std::int64_t until_ms = engine().now_ms() + timeout_ms;
  base::Pace pace = base::Pace::deadline(timeout_ms);
  for (bool began = false;; began = true) {
    if (!input_.empty() && !has_cost_) {
      const Result<void> waited = co_await wait_in_long_turn(until_ms);
      if (!waited) co_return waited;
    }
    ERR_clear_error();  // SSL_get_error() would report an old error for this call
    const bool has_flight = !input_.empty();
    const std::int64_t begun_ns = base::monotonic_ns();
    const int verdict = SSL_do_handshake(ssl_.get());
    constexpr std::int64_t flight_ns_min =
        50'000;  // an ECDSA signature takes 25 us, an RSA one 600
    if (has_flight && base::monotonic_ns() - begun_ns > flight_ns_min) has_cost_ = true;
    const int error = verdict == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), verdict);
    const int reason = error == SSL_ERROR_SSL ? reason_of_failure() : 0;
    if (error == SSL_ERROR_NONE) ERR_clear_error();
    if (input_.empty()) end_input();  // the next flight may take long
    if (began) handshake_memory_.set(handshake_bytes);
    if (reason != 0) failure_ = failure_of(reason);
    if (reason == SSL_R_HTTP_REQUEST) encrypted_.append(answer_to_plain_http);
    if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
      co_await send_alert();
      co_return std::unexpected(Error{EPROTO, "TLS handshake"});
    }
    if (!encrypted_.empty()) {
      const Result<void> written = co_await tcp_.write(encrypted_, pace);
      if (!written) co_return std::unexpected(written.error());
    }
    if (error == SSL_ERROR_NONE) co_return {};
    const std::int64_t left_ms = until_ms - engine().now_ms();
    if (left_ms <= 0) co_return std::unexpected(Error{ETIMEDOUT, "TLS handshake"});
    Result<io::Lease> lease = co_await tcp_.read(static_cast<std::uint32_t>(left_ms));
    if (!lease) co_return std::unexpected(lease.error());
    if (lease->empty()) co_return std::unexpected(Error{ECONNRESET, "TLS handshake"});
    lease_ = *std::move(lease);
    input_ = lease_.bytes();
  }
}

// A client's whole first flight costs as much processor time as a hundred small responses, and
// flights come by the hundred in one turn: what comes late in a turn waits for the next ones, so
// that others need not. Those that have waited have as much time again, and one of them goes on in
// each turn, however long it was already: or new ones, or handlers, would keep them waiting.
Task<Result<void>> TlsTransport::wait_in_long_turn(std::int64_t until_ms) {
  if (engine().turn_ms() < io::Engine::long_turn_ms / 2) co_return {};
  // The buffer may be wanted by the hundred others.
  waiting_input_.assign(input_);
  input_ = waiting_input_;
  lease_.end();
  handshake_memory_.set(std::max(handshake_memory_.bytes(), waiting_input_.size()));
  thread_local std::int64_t last_turn_ms = 0;  // in which one went on late
  for (;;) {
    io::SleepOp next_turn(engine(), 0);
    waiting_ = &next_turn;
    const bool resumed = co_await next_turn;
    waiting_ = nullptr;
    if (!resumed) co_return std::unexpected(Error{ECANCELED, "TLS handshake"});
    if (engine().now_ms() >= until_ms) co_return std::unexpected(Error{ETIMEDOUT, "TLS handshake"});
    if (engine().turn_ms() < io::Engine::long_turn_ms) co_return {};
    if (std::exchange(last_turn_ms, engine().now_ms()) != engine().now_ms()) co_return {};
  }
}

void TlsTransport::end_input() noexcept {
  lease_.end();
  std::string().swap(waiting_input_);
}

void TlsTransport::cancel_read() {
  if (waiting_ != nullptr) waiting_->cancel();
  tcp_.cancel_read();
}

// Sends the alert and lingers, so that the peer can read it (RFC 9112, 9.6).
Task<void> TlsTransport::send_alert() {
  input_ = {};  // no longer read
  lease_.end();
  if (flushing_ || encrypted_.empty()) co_return;  // the writer sends it, then fails
  flushing_ = true;
  base::Pace pace = base::Pace::deadline(linger_ms_);
  const Result<void> written = co_await tcp_.write(encrypted_, pace);
  flushing_ = false;
  flushed_.set();
  if (written) co_await linger(tcp_, linger_ms_);
}

void TlsTransport::end_handshake(TlsHandover* handover) {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  protocol_ = std::string_view(reinterpret_cast<const char*>(name), size);
  session_.emplace(*ssl_);
  if (handover != nullptr) records_ = handover->take();
}

std::size_t TlsTransport::whole_sends(std::size_t bytes_max) const noexcept {
  return std::max(bytes_max - bytes_max % batch_bytes, std::min(bytes_max, batch_bytes));
}

bool TlsTransport::has_input() const noexcept {
  return !input_.empty() || (ssl_ != nullptr && SSL_has_pending(ssl_.get()) != 0);
}

// Decrypts as much as is available and fits into `room`; sets ending_ if no more follows.
std::size_t TlsTransport::decrypt(std::span<char> room) {
  if (records_ == nullptr) return decrypt_by_openssl(room);
  const std::size_t size = records_->open(input_, room, encrypted_);
  ending_ = records_->ending();
  return size;
}

// OpenSSL's error queue, which is costly to clear (2 % of a small request), is empty before and
// after. If OpenSSL needs more input, the queue stays empty.
std::size_t TlsTransport::decrypt_by_openssl(std::span<char> room) {
  std::size_t filled = 0;
  do {
    std::size_t got = 0;
    const int verdict = SSL_read_ex(ssl_.get(), room.data() + filled, room.size() - filled, &got);
    if (verdict != 1) {
      if (SSL_want_read(ssl_.get())) break;
      const int error = SSL_get_error(ssl_.get(), verdict);
      ending_ = error == SSL_ERROR_ZERO_RETURN ? Ending::closed : Ending::broken;
      reason_of_failure();
      break;
    }
    filled += got;
  } while (filled < room.size() && has_input());
  return filled;
}

Task<Result<io::Lease>> TlsTransport::read_plain(std::uint32_t timeout_ms) {
  // Empty records and bytes of an incomplete record do not prolong the wait.
  const std::int64_t until_ms = engine().now_ms() + timeout_ms;
  for (;;) {
    if (encrypted_.size() > answers_bytes_max) ending_ = Ending::broken;
    if (ending_ == Ending::closed) co_return io::Lease();
    if (ending_ == Ending::broken) {
      co_await send_alert();
      co_return std::unexpected(Error{EPROTO, "TLS"});
    }
    if (has_input()) {
      io::Lease plain = engine().borrow();
      plain.set_size(decrypt(plain.room()));
      if (input_.empty()) end_input();
      if (!plain.empty()) co_return std::move(plain);
      if (ending_ != Ending::none) continue;
    }
    // Answers to a KeyUpdate or an attempt at renegotiation.
    if (!encrypted_.empty() && !flushing_) {
      flushing_ = true;
      constexpr std::uint32_t answer_ms_max = 60'000;  // to a KeyUpdate, of a read without a limit
      base::Pace pace = base::Pace::deadline(timeout_ms == 0 ? answer_ms_max : timeout_ms);
      const Result<void> flushed = co_await tcp_.write(encrypted_, pace);
      flushing_ = false;
      flushed_.set();
      if (!flushed) co_return std::unexpected(flushed.error());
    }
    const std::int64_t left_ms = timeout_ms == 0 ? 0 : until_ms - engine().now_ms();
    if (timeout_ms != 0 && left_ms <= 0) co_return std::unexpected(Error{ETIMEDOUT, "TLS"});
    Result<io::Lease> lease = co_await tcp_.read(static_cast<std::uint32_t>(left_ms));
    // An end without close_notify is an end too: HTTP detects truncation itself.
    if (!lease || lease->empty()) co_return std::move(lease);
    lease_ = *std::move(lease);
    input_ = lease_.bytes();
  }
}

// Returns the maximum size of the next record.
std::size_t TlsTransport::record_bytes_max() noexcept {
  const std::int64_t now_ms = engine().now_ms();
  if (now_ms - encrypted_ms_ > pause_ms) small_records_left_ = small_records_bytes;
  encrypted_ms_ = now_ms;
  return small_records_left_ > 0 ? small_record_bytes : record_bytes;
}

// Encrypts up to a batch of plaintext into encrypted_, in full records while there is enough.
Result<void> TlsTransport::encrypt(base::BufferChain& bytes) {
  while (!bytes.empty() && encrypted_.size() < batch_bytes) {
    const std::size_t size_max = record_bytes_max();
    const std::size_t size = bytes.size();
    const bool done = records_ != nullptr ? records_->seal(bytes, size_max, encrypted_)
                                          : encrypt_by_openssl(bytes, size_max);
    if (!done) return std::unexpected(Error{EPROTO, "TLS"});
    small_records_left_ -= std::min(size - bytes.size(), small_records_left_);
  }
  return {};
}

bool TlsTransport::encrypt_by_openssl(base::BufferChain& bytes, std::size_t size_max) {
  std::array<char, record_bytes> staged;
  std::string_view record = bytes.front().substr(0, size_max);
  if (record.size() < size_max && record.size() < bytes.size()) {
    std::array<iovec, 64> pieces;
    std::size_t filled = 0;
    for (const iovec& piece : std::span(pieces).first(bytes.gather(pieces))) {
      const std::size_t part = std::min(piece.iov_len, size_max - filled);
      std::memcpy(staged.data() + filled, piece.iov_base, part);
      filled += part;
      if (filled == size_max) break;
    }
    record = {staged.data(), filled};
  }
  std::size_t taken = 0;
  if (SSL_write_ex(ssl_.get(), record.data(), record.size(), &taken) != 1) {
    reason_of_failure();
    return false;
  }
  bytes.consume(taken);
  return true;
}

Task<Result<void>> TlsTransport::write(base::BufferChain& bytes, base::Pace& pace) {
  while (!bytes.empty() || !encrypted_.empty()) {
    const Result<void> done = encrypt(bytes);
    if (!done) co_return std::unexpected(done.error());
    // Only one flush at a time. A flush by the reader also sends the bytes added here.
    while (flushing_) co_await flushed_.wait();
    flushing_ = true;
    const Result<void> written = co_await tcp_.write(encrypted_, pace);
    flushing_ = false;
    if (!written) co_return std::unexpected(written.error());
  }
  co_return {};
}

Task<void> TlsTransport::finish(std::uint32_t timeout_ms) {
  if (records_ != nullptr) {
    records_->close(encrypted_);
  } else {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());  // queues close_notify; does not wait for the peer's
    ERR_clear_error();
  }
  if (!encrypted_.empty()) {
    base::Pace pace = base::Pace::deadline(timeout_ms);
    const Result<void> written = co_await tcp_.write(encrypted_, pace);
    if (!written) co_return;
  }
  co_await tcp_.finish(timeout_ms);
}

}  // namespace h2server::net
