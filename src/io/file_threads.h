// Threads that wait for the disk, so that an engine need not.
//
// A thread is started when there is something to do and ends when there has been nothing for a
// while: reads that miss the page cache are rare, but an upload's writes follow each other. One
// engine's thread uses it.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "io/engine.h"
#include "io/file_op.h"

namespace h2server::io {

struct FileThreadsLimits {
  static constexpr unsigned threads_max = 4;  // a disk does several reads at once, but not many
  // Longer than an upload takes to bring what its next write needs; starting a thread costs 50 us.
  static constexpr std::chrono::milliseconds idle_max{200};
};

class FileThreads {
 public:
  // `engine` is woken when something is finished.
  explicit FileThreads(Engine& engine) : engine_(engine) {}
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;
  // Waits for what has been begun; nothing may be waiting or untaken.
  ~FileThreads();

  // `op` must not be touched until take_finished() yields it or withdraw() gives it back.
  void start(FileOp& op);
  // Returns true if no thread had begun with it, and none will.
  [[nodiscard]] bool withdraw(FileOp& op);
  // Returns true if there is work and the system refused the only thread for it (EAGAIN: a limit).
  // Then retry() is due now and again: the caller must not wait for the disk itself.
  [[nodiscard]] bool lacks_threads() const noexcept { return lacks_threads_; }
  void retry();
  // Those that are finished, with their results.
  [[nodiscard]] std::vector<FileOp*> take_finished();

 private:
  void add_thread();  // with the lock held
  void work(bool& working);

  Engine& engine_;
  std::mutex mutex_;  // for all below
  std::condition_variable changed_;
  std::deque<FileOp*> waiting_;
  std::vector<FileOp*> finished_;
  std::size_t idle_ = 0;  // threads that wait for something to do
  bool ending_ = false;
  struct Worker {
    std::thread thread;
    bool working = false;  // else it has ended, or is about to, and may be joined
  };
  std::array<Worker, FileThreadsLimits::threads_max> workers_;
  bool lacks_threads_ = false;  // the engine's thread only
};

}  // namespace h2server::io
