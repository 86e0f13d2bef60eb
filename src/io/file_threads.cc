#include "io/file_threads.h"

#include <algorithm>
#include <system_error>

namespace h2server::io {

FileThreads::~FileThreads() {
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  ASSERT(waiting_.empty() && finished_.empty());
}

bool FileThreads::start(FileOp& op) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&op);
  const auto free = std::ranges::find(workers_, false, &Worker::working);
  if (free == workers_.end()) return true;
  if (free->thread.joinable()) free->thread.join();
  try {
    free->thread = std::thread([this, &working = free->working] { work(working); });
    free->working = true;
  } catch (const std::system_error&) {  // EAGAIN: the limit on threads
    waiting_.pop_back();
    return false;
  }
  return true;
}

std::vector<FileOp*> FileThreads::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void FileThreads::work(bool& working) {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    FileOp* const op = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    const int result = op->call.make(true);
    lock.lock();
    op->state.result = result;
    finished_.push_back(op);
    engine_.wake();
  }
  working = false;
}

}  // namespace h2server::io
