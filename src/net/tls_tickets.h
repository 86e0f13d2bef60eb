// The keys that session tickets are encrypted with (RFC 5077, 4; RFC 8446, 4.6.1).
//
// There is a key for each epoch of twelve hours. A ticket of the epoch before is still accepted,
// and replaced by a new one; a ticket is valid for two hours (OpenSSL's default), so none is lost
// by the change. All keys are derived from one secret that is made at the start, by the number of
// the epoch: threads and processes that share the secret agree on the keys without sharing any
// state.
//
// That bounds what is encrypted with one key. It is no forward secrecy against who reads the
// process's memory: the secret is there as long as the process, as is the certificate's key. TLS
// 1.3 has it all the same, since each resumption exchanges keys anew (psk_dhe_ke); TLS 1.2 has it
// when the process has ended.
#pragma once

#include <array>
#include <cstdint>

struct ssl_ctx_st;

namespace h2server::net {

class TicketKeys {
 public:
  static constexpr std::int64_t epoch_s = 12 * 3600;  // RFC 5077, 5.5: keys are changed regularly

  using Clock = std::int64_t (*)();  // seconds; never goes back

  // With a secret of its own.
  explicit TicketKeys(Clock clock = now_s);
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  // Every connection of `context` uses them from now on. They outlive it.
  void install(ssl_ctx_st* context) const;

 private:
  struct Key;
  struct KeysOfThread;
  struct Callback;

  static std::int64_t now_s();
  // For this epoch and the one before; null if OpenSSL can't derive them. Any thread.
  [[nodiscard]] const KeysOfThread* keys() const;
  [[nodiscard]] bool derive(std::int64_t epoch, Key& key) const;

  const Clock clock_;
  const std::uint64_t number_;  // of no other TicketKeys of this process
  std::array<unsigned char, 32> secret_;
};

}  // namespace h2server::net
