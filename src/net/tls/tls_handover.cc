#include "net/tls/tls_handover.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/c_callback.h"

namespace h2server::net {

namespace {

constexpr unsigned record_size_limit_extension = 28;  // RFC 8449, 4
constexpr std::uint16_t record_size_limit_min = 64;

// The value of a hexadecimal digit that OpenSSL wrote.
unsigned value_of(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

// Returns the secret of a line "LABEL RANDOM SECRET", of hexadecimal digits.
TlsProtection::Secret secret_in(std::string_view line) {
  const std::string_view digits = line.substr(line.rfind(' ') + 1);
  std::array<unsigned char, 48> bytes;
  const std::size_t size = std::min(digits.size() / 2, bytes.size());
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] =
        static_cast<unsigned char>(value_of(digits[2 * i]) * 16 + value_of(digits[2 * i + 1]));
  }
  const TlsProtection::Secret secret{std::span(bytes).first(size)};
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return secret;
}

}  // namespace

struct TlsHandover::Callbacks {
  static TlsHandover* of(const SSL* ssl) {
    return static_cast<TlsHandover*>(SSL_get_app_data(ssl));
  }

  static void log_key(const SSL* ssl, const char* text) {
    TlsHandover* const self = of(ssl);
    if (self == nullptr) return;
    const std::string_view line(text);
    if (line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) {
      self->start_.client = secret_in(line);
    } else if (line.starts_with("SERVER_TRAFFIC_SECRET_0 ")) {
      self->start_.server = secret_in(line);
    }
  }

  static void message(int writes, int, int type, const void*, std::size_t, SSL* ssl, void*) {
    TlsHandover* const self = of(ssl);
    if (self == nullptr || type != SSL3_RT_HEADER) return;
    TlsRecords::Start& start = self->start_;
    if (writes != 0 && !start.server.bytes().empty()) ++start.records_written;
    if (writes == 0 && !start.client.bytes().empty()) ++start.records_read;
  }

  // RFC 8449, 4.
  static int parse_limit(SSL* ssl, unsigned, unsigned, const unsigned char* bytes, std::size_t size,
                         X509*, std::size_t, int* alert, void*) {
    const unsigned limit = size == 2 ? bytes[0] * 256U + bytes[1] : 0;
    if (limit < record_size_limit_min) {
      *alert = size == 2 ? SSL_AD_ILLEGAL_PARAMETER : SSL_AD_DECODE_ERROR;
      return 0;
    }
    if (TlsHandover* const self = of(ssl)) {
      self->record_size_limit_ =
          static_cast<std::uint16_t>(std::min<unsigned>(limit, tls_inner_bytes_max));
    }
    return 1;
  }

  // The server answers with what it accepts. It does not if OpenSSL, which writes the handshake,
  // can't keep the client's limit (it is below 512 bytes), or has agreed to max_fragment_length.
  static int add_limit(SSL* ssl, unsigned, unsigned, const unsigned char** bytes, std::size_t* size,
                       X509*, std::size_t, int*, void*) {
    TlsHandover* const self = of(ssl);
    if (self == nullptr || self->record_size_limit_ == 0) return 0;
    const bool has_other = SSL_SESSION_get_max_fragment_length(SSL_get0_session(ssl)) != 0;
    if (has_other || SSL_set_max_send_fragment(ssl, self->record_size_limit_ - 1) != 1) return 0;
    self->start_.content_bytes_max = self->record_size_limit_ - 1U;  // without the type
    static constexpr std::array<unsigned char, 2> accepted = {tls_inner_bytes_max >> 8,
                                                              tls_inner_bytes_max & 255};
    *bytes = accepted.data();
    *size = accepted.size();
    return 1;
  }
};

bool TlsHandover::install(SSL_CTX* context) {
  SSL_CTX_set_keylog_callback(context, base::c_callback<Callbacks::log_key>);
  SSL_CTX_set_msg_callback(context, base::c_callback<Callbacks::message>);
  return SSL_CTX_add_custom_ext(context, record_size_limit_extension,
                                SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS,
                                base::c_callback<Callbacks::add_limit>, nullptr, nullptr,
                                base::c_callback<Callbacks::parse_limit>, nullptr) == 1;
}

TlsHandover::TlsHandover(SSL* ssl) : ssl_(ssl) { SSL_set_app_data(ssl, this); }

TlsHandover::~TlsHandover() { SSL_set_app_data(ssl_, nullptr); }

std::unique_ptr<TlsRecords> TlsHandover::take(const TlsRecordsLimits& limits) const {
  if (SSL_version(ssl_) != TLS1_3_VERSION || SSL_has_pending(ssl_) != 0) return nullptr;
  TlsRecords::Start start = start_;
  start.suite = SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(ssl_));
  // RFC 6066, 4: 1 is 512 bytes, 4 is 4096.
  const unsigned code = SSL_SESSION_get_max_fragment_length(SSL_get0_session(ssl_));
  if (code != 0) start.content_bytes_max = start.content_read_bytes_max = 256U << code;
  return TlsRecords::make(start, limits);
}

}  // namespace h2server::net
