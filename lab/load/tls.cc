#include "load/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/assert.h"

namespace h2server::lab::load {

namespace {
// Several records per read(2). Otherwise OpenSSL reads each record header with a call of its own.
constexpr std::size_t read_ahead_bytes = 64 * 1024;
// Called around each read(2). Notes if it returned as many bytes as requested.
long note_read(BIO* bio, int call, const char*, std::size_t asked, int, long, int result,
               std::size_t* got) {
  if (call == (BIO_CB_READ | BIO_CB_RETURN) && result > 0) {
    *reinterpret_cast<bool*>(BIO_get_callback_arg(bio)) = *got == asked;
  }
  return result;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { SSL_CTX_free(context); }

Result<TlsContext, std::string> TlsContext::open(std::string_view alpn) {
  TlsContext made;
  made.context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = made.get();
  if (context == nullptr) return std::unexpected("can't set up TLS");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  // HTTP checks how a body ends, so a missing close_notify is not an error.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, read_ahead_bytes);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  std::string list(1, static_cast<char>(alpn.size()));
  list += alpn;
  // Unlike other OpenSSL functions, this one returns 0 for success.
  if (SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(list.data()),
                              static_cast<unsigned>(list.size())) != 0) {
    return std::unexpected("can't offer a protocol in TLS");
  }
  return made;
}

void Tls::Free::operator()(ssl_st* ssl) const noexcept { SSL_free(ssl); }

Tls::Tls(const TlsContext& context, int socket) : ssl_(SSL_new(context.get())) {
  ASSERT(ssl_ != nullptr);
  const int attached = SSL_set_fd(ssl_.get(), socket);
  ASSERT(attached == 1);
  SSL_set_connect_state(ssl_.get());
  BIO_set_callback_ex(SSL_get_rbio(ssl_.get()), note_read);
  BIO_set_callback_arg(SSL_get_rbio(ssl_.get()), reinterpret_cast<char*>(&filled_));
}

Step Tls::step_of(int result) const noexcept {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return Step::done;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Step::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return Step::ended;
    default:
      return Step::failed;  // SYSCALL, SSL: an alert, a reset, invalid data
  }
}

Step Tls::handshake() noexcept {
  ERR_clear_error();
  return step_of(SSL_do_handshake(ssl_.get()));
}

std::string_view Tls::protocol() const noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

Transfer Tls::read(std::span<char> room) noexcept {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &size);
  // After a short read(2) the socket is empty. Another call would only return EAGAIN.
  const bool drained = !filled_ && SSL_has_pending(ssl_.get()) == 0;
  return {step_of(result), size, drained};
}

Transfer Tls::write(std::string_view bytes) noexcept {
  ERR_clear_error();
  std::size_t size = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &size);
  return {step_of(result), size};
}

void Tls::finish() noexcept {
  if (SSL_is_init_finished(ssl_.get()) == 0) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

std::uint64_t Tls::bytes_in() const noexcept { return BIO_number_read(SSL_get_rbio(ssl_.get())); }
std::uint64_t Tls::bytes_out() const noexcept {
  return BIO_number_written(SSL_get_wbio(ssl_.get()));
}

}  // namespace h2server::lab::load
