// UploadHook: reports each stored file to a program or to an http(s) URL.
//
// It has a thread of its own, which reports one file after the other and does all waiting: a hook
// that is slow or fails costs reports, never an upload. Must outlive the workers that offer events.
// Of a server with a process per connection, it hears nothing: its children have no such thread.
//
// A program gets the path of the stored file as its argument, and of its environment
// H2SERVER_UPLOAD_NAME, _PATH, _SIZE, _SHA256 and _CLIENT beside what the server has; no standard
// input and output, but standard error. It has succeeded if it ends with 0. A URL gets a POST of
// JSON with the members path, name, size, sha256 and client, and has to answer 2xx.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "app/client/http_client.h"
#include "base/fd.h"
#include "content/uploads/area/upload_event.h"
#include "h2server/result.h"

namespace h2server::app {

struct UploadHookOptions {
  std::string target;             // http:// or https://, else a program; without '/', one in PATH
  std::size_t queued_max = 1000;  // events, some hundred bytes each
  std::chrono::milliseconds time_max{30'000};  // of one try; a program is then killed
  unsigned tries = 4;
  std::chrono::milliseconds first_retry{1000};  // doubles with each try
  std::chrono::milliseconds flush_max{5000};    // of stop()
};

class UploadHook {
 public:
  // Numbers of events since the start.
  struct Counts {
    std::uint64_t reported = 0;
    std::uint64_t dropped = 0;  // the queue was full, or it had stopped
    std::uint64_t failed = 0;   // given up
  };

  // Returns the path of the program that a target names, or an empty string for a URL. The error is
  // a line for the operator. Blocks on the disk.
  static Result<std::string, std::string> find_program(const std::string& target);

  explicit UploadHook(UploadHookOptions options);
  UploadHook(const UploadHook&) = delete;
  UploadHook& operator=(const UploadHook&) = delete;
  ~UploadHook();

  // Finds the program and starts the thread. The error is that of find_program(), or that there is
  // no thread.
  Result<void, std::string> start();
  // Any thread. Holds a lock while it moves one event, never while anything is reported.
  void offer(content::UploadEvent event);
  // Calls offer(). The hook must outlive it.
  [[nodiscard]] content::UploadSink sink();
  // Reports what is queued, for at most `flush_max`, kills a program that still runs, and ends the
  // thread. May be called again, but by one thread.
  void stop() noexcept;

  // Any thread.
  [[nodiscard]] Counts counts() const noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Outcome : std::uint8_t { done, retry };

  void run();
  bool take(content::UploadEvent& event);
  void report(const content::UploadEvent& event);
  // Sets `reason` unless it is done.
  Outcome try_once(const content::UploadEvent& event, std::string& reason);
  Outcome post(const content::UploadEvent& event, std::string& reason);
  Outcome run_program(const content::UploadEvent& event, std::string& reason);
  bool sleep(std::chrono::milliseconds time);
  [[nodiscard]] Clock::time_point end();
  void count_dropped();

  const UploadHookOptions options_;
  const bool is_url_;
  std::string program_;  // its path
  HttpClient client_;
  base::Fd stopped_;  // an eventfd: the thread may have to wait for less time
  std::atomic<std::uint64_t> reported_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::mutex mutex_;  // guards the next five
  std::condition_variable changed_;
  std::deque<content::UploadEvent> queue_;
  bool stopping_ = false;
  Clock::time_point end_ = Clock::time_point::max();
  Clock::time_point dropped_logged_ = Clock::time_point::min();
  std::thread thread_;
};

}  // namespace h2server::app
