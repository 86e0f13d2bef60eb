// TicketKeys: the keys that encrypt session tickets (RFC 5077, 4; RFC 8446, 4.6.1).
//
// There is one key for each epoch of twelve hours. A ticket of the previous epoch is still accepted
// and replaced by a new one. A ticket is valid for two hours (OpenSSL's default), so the change of
// epoch loses none. All keys are derived from a secret and the epoch's number. Threads, processes
// and machines that share the secret agree on the keys without shared state.
//
// This bounds the data encrypted with one key. It gives no forward secrecy against a reader of the
// process's memory: the secret lives as long as this object, as does the certificate's key. TLS 1.3
// has forward secrecy anyway, since each resumption exchanges new keys (psk_dhe_ke). TLS 1.2 has it
// only after the secret is gone everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct ssl_ctx_st;

namespace h2server::net {

class TicketKeys {
 public:
  static constexpr std::int64_t epoch_s = 12 * 3600;  // RFC 5077, 5.5: change keys regularly

  using Clock = std::int64_t (*)();  // seconds

  // Makes a new random secret. Its clock never goes back.
  explicit TicketKeys(Clock clock = uptime_s);
  // Takes secrets that other servers have, too. The first makes new tickets; those of the others
  // are accepted and replaced. Tickets are good only for servers with the same `terms`. Other
  // clocks may be up to an epoch ahead or behind.
  TicketKeys(std::vector<std::string> secrets, std::string terms, Clock clock = time_of_day_s);
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  // Makes all later connections of `context` use these keys. Must outlive `context`.
  void install(ssl_ctx_st* context) const;
  [[nodiscard]] bool shared() const noexcept { return shared_; }

 private:
  struct Key;
  struct KeysOfThread;
  struct Callback;

  static std::int64_t uptime_s();
  static std::int64_t time_of_day_s();
  // Returns the keys that are good now, or null if OpenSSL can't derive them. Any thread.
  [[nodiscard]] const KeysOfThread* keys() const;
  [[nodiscard]] bool derive(const std::string& secret, std::int64_t epoch, Key& key) const;

  const Clock clock_;
  const std::uint64_t number_;  // unique among the TicketKeys of this process
  const bool shared_;
  std::vector<std::string> secrets_;
  const std::string terms_;
};

}  // namespace h2server::net
