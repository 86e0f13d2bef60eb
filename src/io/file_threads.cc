#include "io/file_threads.h"

#include <system_error>

namespace h2server::io {

FileThreads::~FileThreads() {
  for (std::thread& thread : threads_) thread.join();
  ASSERT(waiting_.empty() && finished_.empty());
}

bool FileThreads::start(FileOp& op) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&op);
  if (working_ == threads_max) return true;
  if (working_ == 0) {  // all that there were have ended
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  try {
    threads_.emplace_back([this] { work(); });
    ++working_;
  } catch (const std::system_error&) {  // EAGAIN: the limit on threads
    if (working_ > 0) return true;
    waiting_.pop_back();
    return false;
  }
  return true;
}

std::vector<FileOp*> FileThreads::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void FileThreads::work() {
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
  --working_;
}

}  // namespace h2server::io
