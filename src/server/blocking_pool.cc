#include "server/blocking_pool.h"

#include "server/blocking_worker.h"

namespace h2server::server {

BlockingPool::BlockingPool(const SharedContext& shared, const StopSignal& stop, Take take)
    : shared_(shared), stop_(stop), take_(std::move(take)) {}

Result<void, std::string> BlockingPool::start(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    Member& member = members_.emplace_back();
    Result<BlockingThread> thread = BlockingThread::start([this, &member] {
      BlockingWorker worker(shared_, stop_, member.counters);
      while (std::optional<base::Fd> connection = take_()) worker.serve(*std::move(connection));
    });
    if (!thread) return std::unexpected("can't start a thread: " + thread.error().message());
    member.thread = *std::move(thread);
  }
  return {};
}

void BlockingPool::join() noexcept {
  for (Member& member : members_) member.thread.join();
}

std::string BlockingPool::report() const {
  std::string lines;
  std::size_t number = 0;
  for (const Member& member : members_) {
    lines += line_of_worker(++number, member.counters) + "\n";
  }
  return lines;
}

}  // namespace h2server::server
