// Scheme: who accepts connections, who serves them, and how one gets to the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/result.h"
#include "net/listener.h"
#include "server/context.h"

namespace h2server::server {

struct SchemeOptions {
  net::ListenOptions listen;
  unsigned workers = 1;
};

// Used by the thread that owns it.
class Scheme {
 public:
  Scheme() = default;
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;
  virtual ~Scheme() = default;

  // Listens and starts the threads; the error is a line for the operator.
  virtual Result<void, std::string> start() = 0;
  // Stops accepting and drains; the second call ends what still runs. Once start() succeeded.
  virtual void stop() noexcept = 0;
  // Until everything has ended, after stop().
  virtual void join() = 0;

  struct Address {
    std::string host;
    std::uint16_t port;
  };
  // Where it listens, once started.
  [[nodiscard]] virtual const std::vector<Address>& addresses() const noexcept = 0;
  // A line for the operator on what was noteworthy, or empty.
  [[nodiscard]] virtual std::string summary() const = 0;
};

// Null when there is no scheme of that name. `shared` outlives the scheme.
std::unique_ptr<Scheme> make_scheme(std::string_view name, const SharedContext& shared,
                                    const SchemeOptions& options);

}  // namespace h2server::server
