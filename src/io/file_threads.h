// FileThreads: threads that wait for the disk, so that an engine need not.
//
// A thread starts when there is work and ends after idle_max without any: reads that miss the page
// cache are rare, but an upload's writes follow each other. Clients take turns, and none has all
// threads. Used on one engine's thread.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "io/engine.h"
#include "io/fair_queue.h"

namespace h2server::io {

struct FileThreadsLimits {
  static constexpr unsigned threads_max = 4;  // a disk does several reads at once, but not many
  static constexpr unsigned threads_per_client_max = threads_max - 1;
  // Longer than an upload takes to deliver the data of its next write. A thread start costs 50 us.
  static constexpr std::chrono::milliseconds idle_max{200};
};

class FileThreads {
 public:
  // Wakes `engine` when an operation is finished.
  explicit FileThreads(Engine& engine) : engine_(engine) {}
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;
  // Joins the threads. Every operation must have been taken or withdrawn.
  ~FileThreads();

  // `op` must not be touched until take_finished() returns it or withdraw() returns true for it.
  void start(FileOp& op);
  // Returns true if no thread has begun `op`; none will then.
  [[nodiscard]] bool withdraw(FileOp& op);
  // Returns true if work waits and the system refused to start the only thread (EAGAIN: a limit).
  // The caller must then call retry() periodically, since it must not wait for the disk itself.
  [[nodiscard]] bool lacks_threads() const noexcept { return lacks_threads_; }
  void retry();
  // Returns the finished operations, with their results.
  [[nodiscard]] std::vector<FileOp*> take_finished();

 private:
  void add_thread();  // with the lock held
  void work(bool& working);

  Engine& engine_;
  std::mutex mutex_;  // guards the members below, except lacks_threads_
  std::condition_variable changed_;
  FairQueue waiting_{FileThreadsLimits::threads_per_client_max};
  std::vector<FileOp*> finished_;
  std::size_t idle_ = 0;  // threads that wait for work
  bool ending_ = false;
  struct Worker {
    std::thread thread;
    bool working = false;  // false: the thread has ended or is about to, and may be joined
  };
  std::array<Worker, FileThreadsLimits::threads_max> workers_;
  bool lacks_threads_ = false;  // the engine's thread only
};

}  // namespace h2server::io
