#include "net/transport.h"

namespace h2server::net {

Task<void> linger(Transport& transport, std::uint32_t timeout_ms) {
  co_await transport.finish(timeout_ms);
  const std::int64_t until_ms = transport.engine().now_ms() + timeout_ms;
  while (transport.engine().now_ms() < until_ms) {
    const auto left_ms = static_cast<std::uint32_t>(until_ms - transport.engine().now_ms());
    Result<io::Lease> lease = co_await transport.read(left_ms);
    if (!lease || lease->empty()) co_return;
  }
}

}  // namespace h2server::net
