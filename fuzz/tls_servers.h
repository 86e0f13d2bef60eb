// TlsServers: gives a client's bytes to both servers of a TlsConnection and compares what they make
// of them with each other, with RFC 8446 (TlsExpectation) and with what OpenSSL's client reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/memory/buffer_chain.h"
#include "pieces.h"
#include "tls_connection.h"
#include "tls_expectation.h"
#include "tls_reference.h"

namespace h2server::fuzz {

class TlsServers {
 public:
  // Without `has_twin`, OpenSSL is not compared: its limits are other ones. All must outlive this.
  TlsServers(TlsConnection& connection, TlsExpectation& expected,
             const TlsConnectionOptions& options, bool has_twin);

  // Bytes of the client. `room_bytes` is the room for their content.
  void arrived(std::string_view bytes, Cuts cuts, std::size_t room_bytes);
  // Writes `content` in records of up to `record_bytes` bytes.
  void write(const std::string& content, std::size_t record_bytes);
  void close();
  // Gives the client what the servers have sent, and compares what it reads.
  void answer();

 private:
  void open(std::string_view piece, std::size_t room_bytes);
  void compare_with_expected();
  void compare_with_twin();
  void compare_with_client();
  [[nodiscard]] bool twin_may_differ() const;
  // Decrypts the records that were sent.
  void decode(std::string_view sent);

  TlsConnection& connection_;
  TlsExpectation& expected_;
  TlsReference server_;  // opens what the servers seal
  bool has_twin_;
  base::BufferChain out_;
  std::string sent_;     // since the last answer()
  std::string content_;  // that the server has read
  std::string written_;  // content that the server has written
  int alert_sent_ = -1;
  unsigned key_updates_ = 0;
};

}  // namespace h2server::fuzz
