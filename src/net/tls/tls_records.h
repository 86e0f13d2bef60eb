// TlsRecords: the records of a TLS 1.3 server's connection after its handshake: application data,
// KeyUpdate, alerts (RFC 8446, 4.6.3, 5 and 6). OpenSSL has done the handshake and sent the
// tickets.
//
// No I/O: received bytes go in, content comes out, and records for the peer are appended to a
// chain. One owner, one thread. Kernel TLS would begin with the same Start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "net/tls/tls_protection.h"

namespace h2server::net {

struct TlsRecordsLimits {
  // RFC 8446, 5.5: AES-GCM protects 2^24.5 full records with one key.
  std::uint64_t records_per_key_max = std::uint64_t{1} << 24;
  // In a row, without content: empty ones, KeyUpdates, user_canceled. They cost the server more
  // than the client. OpenSSL refuses as many empty records, BoringSSL as many KeyUpdates.
  std::uint32_t empty_records_max = 32;
};

class TlsRecords {
 public:
  // The end of a handshake.
  struct Start {
    std::uint16_t suite = 0;            // RFC 8446, B.4
    TlsProtection::Secret client;       // client_application_traffic_secret_0 (RFC 8446, 7.1)
    TlsProtection::Secret server;       // server_application_traffic_secret_0
    std::uint64_t records_read = 0;     // under the client's secret
    std::uint64_t records_written = 0;  // under the server's: those with tickets
    std::size_t content_bytes_max = tls_content_bytes_max;  // of a record that the peer accepts
    std::size_t content_read_bytes_max = tls_content_bytes_max;  // of one that it may send
  };
  enum class Ending : std::uint8_t { none, closed /* by close_notify */, broken };

  // Returns null if the suite is not one that TlsProtection knows.
  static std::unique_ptr<TlsRecords> make(const Start& start, const TlsRecordsLimits& limits = {});
  // See make().
  TlsRecords(TlsProtection reader, TlsProtection writer, const Start& start,
             const TlsRecordsLimits& limits);

  // Moves at most `size_max` bytes from `content` to one record behind `out`. `content` is not
  // empty. Returns false if the connection has failed.
  [[nodiscard]] bool seal(base::BufferChain& content, std::size_t size_max, base::BufferChain& out);
  // Appends close_notify to `out`, unless the connection has failed.
  void close(base::BufferChain& out);

  // Takes whole records from `input`, as many as have room, and a part of one only if it is the
  // last: then `input` is empty. Returns the size of the content in `room`, which has at least
  // tls_encrypted_bytes_max bytes. Appends answers to `out`: KeyUpdate, or the alert that tells the
  // peer what is wrong.
  std::size_t open(std::string_view& input, std::span<char> room, base::BufferChain& out);
  // How the input ended. Nothing is opened behind its end.
  [[nodiscard]] Ending ending() const noexcept { return ending_; }

 private:
  enum class Alert : std::uint8_t;
  using Header = TlsProtection::Header;

  // Copies the next record's header if all of it has arrived.
  [[nodiscard]] bool peek(std::string_view input, Header& header) const;
  [[nodiscard]] std::optional<Alert> problem_of(const Header& header) const;
  // Takes a whole record; `size` bytes follow its header.
  std::size_t open_record(const Header& header, std::size_t size, std::string_view& input,
                          char* room, base::BufferChain& out);
  // Returns the size of the content, if it is application data.
  std::size_t take(std::span<char> inner, base::BufferChain& out);
  void take_alert(std::span<const char> content, base::BufferChain& out);
  void take_handshake(std::span<const char> content, base::BufferChain& out);
  void take_key_update(base::BufferChain& out);

  void seal_bytes(TlsContentType type, std::string_view content, base::BufferChain& out);
  void update_keys(bool request, base::BufferChain& out);
  void fail(Alert alert, base::BufferChain& out);

  TlsProtection reader_;
  TlsProtection writer_;
  base::BufferChain partial_{base::BufferChain::Begin::small};  // the beginning of a record
  TlsRecordsLimits limits_;
  std::size_t content_bytes_max_;
  std::size_t content_read_bytes_max_;
  std::uint32_t empty_records_ = 0;            // in a row
  std::array<unsigned char, 5> key_update_{};  // a message that may come in several records
  std::uint8_t key_update_bytes_ = 0;
  bool update_requested_ = false;
  Ending ending_ = Ending::none;
};

}  // namespace h2server::net
