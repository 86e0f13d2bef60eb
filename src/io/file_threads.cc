#include "io/file_threads.h"

#include <algorithm>
#include <system_error>

namespace h2server::io {

FileThreads::~FileThreads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  ASSERT(waiting_.empty() && finished_.empty());
}

void FileThreads::start(FileOp& op) {
  const std::lock_guard lock(mutex_);
  waiting_.add(op);
  if (idle_ > 0) changed_.notify_one();
  if (waiting_.size() > idle_ && waiting_.has_next()) add_thread();
}

bool FileThreads::withdraw(FileOp& op) {
  const std::lock_guard lock(mutex_);
  const bool waited = waiting_.remove(op);
  if (waiting_.empty()) lacks_threads_ = false;
  return waited;
}

void FileThreads::retry() {
  const std::lock_guard lock(mutex_);
  if (waiting_.has_next()) add_thread();
}

void FileThreads::add_thread() {
  const auto free = std::ranges::find(workers_, false, &Worker::working);
  if (free == workers_.end()) return;
  if (free->thread.joinable()) free->thread.join();
  try {
    free->thread = std::thread([this, &working = free->working] { work(working); });
    free->working = true;
    lacks_threads_ = false;
  } catch (const std::system_error&) {  // EAGAIN: the limit on threads
    // A running thread takes the waiting operations before it ends.
    lacks_threads_ = std::ranges::find(workers_, true, &Worker::working) == workers_.end();
  }
}

std::vector<FileOp*> FileThreads::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void FileThreads::work(bool& working) {
  std::unique_lock lock(mutex_);
  const auto has_news = [this] { return ending_ || waiting_.has_next(); };
  for (;;) {
    ++idle_;
    changed_.wait_for(lock, FileThreadsLimits::idle_max, has_news);
    --idle_;
    FileOp* const op = waiting_.take();
    if (op == nullptr) break;
    lock.unlock();
    const int result = op->call.make(true);
    lock.lock();
    op->state.result = result;
    waiting_.end(op->call.client);
    finished_.push_back(op);
    engine_.wake();
  }
  working = false;
}

}  // namespace h2server::io
