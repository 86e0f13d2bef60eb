// Console: what a person at a terminal sees and does while the server runs: a line for each
// request, and keys. Exists only if standard output is a terminal.
#pragma once

#include <termios.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.h"
#include "h2server/middleware.h"

namespace h2server::app {

struct ConsoleOptions {
  bool colour = true;
  bool uploads = false;  // there is something to switch
};

class Console {
 public:
  // Returns null if standard output is no terminal.
  static std::unique_ptr<Console> open(const ConsoleOptions& options);
  explicit Console(const ConsoleOptions& options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  // For all requests. A worker prints a few lines a second and counts the others, so a busy server
  // is not held up. Lives no longer than this.
  [[nodiscard]] Middleware request_lines();
  // For uploads: answers 403 while they are switched off. Lives no longer than this.
  [[nodiscard]] Middleware upload_switch();

  // Begins to print and to read keys. `url` is for the QR code, `report` returns the load in lines;
  // it is called by a thread of this object, until stop(). Also again, after that.
  void start(std::string url, std::function<std::string()> report);
  void stop() noexcept;

 private:
  void run();
  void handle_key(char key);
  void print(std::string line);
  void take_lines();
  bool flush();
  void note(const Request& request, const Response& response);

  const ConsoleOptions options_;
  std::function<std::string()> report_;
  std::string url_;
  base::Fd wake_;                  // an eventfd
  base::Fd out_;                   // the terminal; writes do not block
  std::optional<termios> before_;  // of standard input, if it was changed
  std::thread thread_;
  std::atomic<bool> uploads_on_{true};
  std::atomic<bool> stopped_{false};
  std::string pending_;  // of the thread: what the terminal has not taken yet; bounded as lines_
  std::mutex mutex_;
  std::string lines_;          // to print; bounded
  std::uint64_t skipped_ = 0;  // lines
};

}  // namespace h2server::app
