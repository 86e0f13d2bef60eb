#include "server/schemes/blocking_pool.h"

#include "base/log.h"
#include "server/schemes/blocking_worker.h"

namespace h2server::server {

BlockingPool::BlockingPool(const SharedContext& shared, const StopSignal& stop, Take take)
    : shared_(shared), stop_(stop), take_(std::move(take)) {}

Result<void, std::string> BlockingPool::start(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    Member& member = members_.emplace_back();
    Result<BlockingThread> thread = BlockingThread::start([this, &member] {
      {
        BlockingWorker worker(shared_, stop_, member.counters);
        while (std::optional<Accepted> connection = take_()) worker.serve(*std::move(connection));
      }
      member.ended.store(true);
      shared_.give_up.notify();
    });
    if (!thread) {
      members_.pop_back();
      return std::unexpected("can't start a thread: " + thread.error().message());
    }
    member.thread = *std::move(thread);
  }
  return {};
}

bool BlockingPool::join() {
  bool all = true;
  for (Member& member : members_) {
    if (shared_.give_up.wait([&member] { return member.ended.load(); })) {
      member.thread.join();
      continue;
    }
    base::log_error("a thread was left behind; {}", describe_last_route(member.counters));
    member.thread.leave_behind();
    all = false;
  }
  return all;
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
