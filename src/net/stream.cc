#include "net/stream.h"

namespace h2server::net {

Task<void> linger(Stream& stream, std::uint32_t timeout_ms) {
  co_await stream.finish(timeout_ms);
  const std::int64_t until_ms = stream.engine().now_ms() + timeout_ms;
  while (stream.engine().now_ms() < until_ms) {
    const auto left_ms = static_cast<std::uint32_t>(until_ms - stream.engine().now_ms());
    Result<io::Lease> lease = co_await stream.read(left_ms);
    if (!lease || lease->empty()) co_return;
  }
}

}  // namespace h2server::net
