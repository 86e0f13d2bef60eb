// TLS between a socket's bytes and a session's. OpenSSL reads from where the loop received and
// writes where the loop sends from: no buffer in between, no system call of its own, and all
// records of a turn leave together. The loop's thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "floor/output.h"
#include "floor/session.h"
#include "net/tls_context.h"

struct bio_st;
struct ssl_st;

namespace h2server::lab::floor {

// Memory that all connections of a loop use in turn.
struct TlsScratch {
  Output plain;          // responses on their way into records
  std::string received;  // requests, decrypted
};

class TlsChannel {
 public:
  TlsChannel(const net::TlsContext& context, TlsScratch& scratch);

  // Records from the client; what they hold goes to the session. False: TLS has failed or ended.
  bool receive(std::string_view records, Session& session);
  // Records for the client: OpenSSL's own and what the session has to say.
  void fill(Session& session, Output& output);

  // OpenSSL's side. How many bytes were taken, 0: there are none.
  std::size_t read(char* to, std::size_t bytes_max);
  void write(std::string_view records);

 private:
  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };

  TlsScratch& scratch_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string_view input_;    // during receive()
  Output* target_ = nullptr;  // during fill()
  std::string early_;         // written when there was no output to write to
  bool closed_ = false;       // our close_notify is out
};

}  // namespace h2server::lab::floor
