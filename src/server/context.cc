#include "server/context.h"

#include "base/memory/buffer_chain.h"
#include "coro/frame_pool.h"

namespace h2server::server {

void WorkerContext::free_reserve() noexcept {
  h1_exchanges.free_spare();
  h2_exchanges.free_spare();
  base::BufferChain::free_spare_blocks();
  coro::free_spare_frames();
  engine.free_spare_buffers();
}

}  // namespace h2server::server
