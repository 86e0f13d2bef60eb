// Drainable: a connection as its worker sees it. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace h2server::http {

class ConnectionObserver;
struct ExchangeState;

class Drainable {
 public:
  // The server stops: requests in flight are completed, no new ones begin. May be called again.
  virtual void drain() = 0;
  // Another server accepts the clients' next connections: ends as drain() does, but in such a way
  // that no request is lost that is on its way.
  virtual void retire() { drain(); }
  // The drain limit has passed: stops the tokens of its exchanges.
  virtual void cancel() = 0;
  // There are too many connections: ends this idle one at once.
  virtual void shed() = 0;
  // Too much memory is in use: ends the connection soon. Resumes nothing. A second call does
  // nothing.
  void cut_off() noexcept {
    if (!std::exchange(cut_off_, true)) begin_cut_off();
  }
  [[nodiscard]] bool is_cut_off() const noexcept { return cut_off_; }
  // Returns about how many bytes of memory its requests and their responses hold.
  [[nodiscard]] virtual std::size_t bytes_held() const noexcept { return 0; }
  // Returns a number that the connections of a client have in common; 0: it has one of its own.
  [[nodiscard]] virtual std::uint64_t client() const noexcept { return 0; }
  // Returns the client's address for the operator; may be empty.
  [[nodiscard]] virtual std::string client_address() const { return {}; }
  // Appends a line for each request whose response has not ended.
  virtual void name_unfinished(std::vector<std::string>& names) const = 0;
  // Calls `visit` with each exchange whose response has not ended.
  virtual void each_exchange(const std::function<void(const ExchangeState&)>& /*visit*/) const {}
  // Returns what observes it, or null.
  [[nodiscard]] virtual ConnectionObserver* observer() const noexcept { return nullptr; }

 protected:
  Drainable() = default;
  Drainable(const Drainable&) = delete;
  Drainable& operator=(const Drainable&) = delete;
  virtual ~Drainable() { ASSERT(link_ == nullptr); }
  virtual void begin_cut_off() noexcept {}

 private:
  friend class DrainList;
  Drainable* next_ = nullptr;
  Drainable** link_ = nullptr;  // the pointer that points here
  bool cut_off_ = false;
  bool pauses_ = false;  // it was idle at the last drain_paused(), and is since
};

}  // namespace h2server::http
