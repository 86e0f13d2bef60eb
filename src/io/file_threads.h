// Threads that wait for the disk, so that an engine need not.
//
// There is a thread only as long as there is something to do: a read that misses the page cache is
// rare, and takes far longer than starting one. One engine's thread uses it.
#pragma once

#include <array>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "io/engine.h"
#include "io/file_op.h"

namespace h2server::io {

class FileThreads {
 public:
  static constexpr unsigned threads_max = 4;  // a disk does several reads at once, but not many

  // `engine` is woken when something is finished.
  explicit FileThreads(Engine& engine) : engine_(engine) {}
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;
  // Waits for what has been begun; nothing may be waiting or untaken.
  ~FileThreads();

  // `op` must not be touched until take_finished() yields it. False: there is no thread to be had.
  [[nodiscard]] bool start(FileOp& op);
  // Those that are finished, with their results.
  [[nodiscard]] std::vector<FileOp*> take_finished();

 private:
  void work(bool& working);

  Engine& engine_;
  std::mutex mutex_;  // for all below
  std::deque<FileOp*> waiting_;
  std::vector<FileOp*> finished_;
  struct Worker {
    std::thread thread;
    bool working = false;  // else it has ended, or is about to, and may be joined
  };
  std::array<Worker, threads_max> workers_;
};

}  // namespace h2server::io
