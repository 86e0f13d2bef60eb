// FullScreen: takes the terminal for a program that draws all of it, and gives it back as it was,
// also when a signal ends or stops the program.
//
// One object at a time, for the main thread.
#pragma once

#include <termios.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::app {

class FullScreen {
 public:
  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  struct Event {
    bool ended = false;     // by a signal, or the terminal is gone
    bool redraw = false;    // the size or the terminal has changed
    bool readable = false;  // the watched descriptor is
    std::string typed = {};
  };

  // Blocks the signals that it handles, so threads that are started later do not get them.
  FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  // Raises the signal that has ended the program, if any, when the terminal is as it was.
  ~FullScreen();

  // Standard output's; that of an ordinary terminal if it is none.
  [[nodiscard]] static Size size() noexcept;

  // Draws lines that are as wide as the terminal.
  void draw(const std::vector<std::string>& lines);
  // Waits for a key, a signal, or that `descriptor` becomes readable.
  [[nodiscard]] Event wait(int descriptor);

 private:
  void enter();
  void leave() noexcept;
  void stop_process();
  void take_signals(Event& event);
  bool write_all(std::string_view text) noexcept;

  std::optional<termios> before_;  // of standard input, if that is the terminal
  sigset_t mask_before_{};
  bool reads_ = false;
  bool gone_ = false;
  int ended_by_ = 0;  // a signal
};

}  // namespace h2server::app
