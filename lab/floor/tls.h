// TLS between a socket and a session. OpenSSL reads from the loop's receive buffer and writes to
// the loop's output: no buffer between them and no system call of its own. All records of a turn
// are sent together. Used by the loop's thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "floor/output.h"
#include "floor/session.h"
#include "net/tls/tls_context.h"

struct bio_st;
struct ssl_st;

namespace h2server::lab::floor {

// Memory that the connections of a loop use in turn.
struct TlsScratch {
  Output plain;          // responses to encrypt
  std::string received;  // decrypted requests
};

class TlsChannel {
 public:
  TlsChannel(const net::TlsContext& context, TlsScratch& scratch);

  // Decrypts the client's records for the session. Returns false if TLS has failed or ended.
  bool receive(std::string_view records, Session& session);
  // Appends records for the client: OpenSSL's own and the session's output.
  void fill(Session& session, Output& output);

  // Called by OpenSSL. Returns the number of bytes read, 0 if there are none.
  std::size_t read(char* to, std::size_t bytes_max);
  void write(std::string_view records);

 private:
  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };

  TlsScratch& scratch_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string_view input_;    // only during receive()
  Output* target_ = nullptr;  // only during fill()
  std::string early_;         // records written outside fill()
  bool closed_ = false;       // our close_notify is written
};

}  // namespace h2server::lab::floor
