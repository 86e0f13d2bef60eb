#include "app/top/full_screen.h"

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "app/system/terminal.h"

namespace h2server::app {

namespace {

constexpr std::array other_signals{SIGTSTP, SIGCONT, SIGWINCH};

// The alternate screen without a cursor, where long lines do not wrap; and back.
constexpr std::string_view enter_text = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view leave_text = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// Set by the handler, which runs only while wait() waits.
volatile std::sig_atomic_t ending = 0;  // one of ending_signals, or 0
volatile std::sig_atomic_t stop_wanted = 0;
volatile std::sig_atomic_t continued = 0;
volatile std::sig_atomic_t resized = 0;

extern "C" void note_signal(int signal) {
  if (signal == SIGTSTP) stop_wanted = 1;
  else if (signal == SIGCONT) continued = 1;
  else if (signal == SIGWINCH) resized = 1;
  else ending = signal;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : ending_signals) sigaddset(&set, signal);
  for (const int signal : other_signals) sigaddset(&set, signal);
  return set;
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

// Lets a signal that is blocked do what it does by default.
void raise_by_default(int signal) {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  set_handler(signal, SIG_DFL);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, &before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

FullScreen::FullScreen() : reads_(::isatty(STDIN_FILENO) == 1) {
  ending = 0;
  stop_wanted = 0;
  continued = 0;
  resized = 0;
  const sigset_t set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  for (const int signal : ending_signals) set_handler(signal, &note_signal);
  for (const int signal : other_signals) set_handler(signal, &note_signal);
  enter();
}

FullScreen::~FullScreen() {
  leave();
  for (const int signal : ending_signals) set_handler(signal, SIG_DFL);
  for (const int signal : other_signals) set_handler(signal, SIG_DFL);
  if (ended_by_ != 0) raise_by_default(ended_by_);
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

FullScreen::Size FullScreen::size() noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

void FullScreen::enter() {
  termios settings{};
  if (reads_ && ::tcgetattr(STDIN_FILENO, &settings) == 0) {
    before_ = settings;
    // Ctrl-C and Ctrl-Z keep on being signals.
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    settings.c_cc[VMIN] = 0;
    settings.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }
  write_all(enter_text);
}

void FullScreen::leave() noexcept {
  write_all(leave_text);
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  before_.reset();
}

// Ctrl-Z. Returns when the program goes on.
void FullScreen::stop_process() {
  leave();
  raise_by_default(SIGTSTP);
  set_handler(SIGTSTP, &note_signal);
  enter();
}

void FullScreen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (const std::string& line : lines) {
    if (&line != &lines.front()) text += "\r\n";
    text += line;
  }
  write_all(text);
}

FullScreen::Event FullScreen::wait(int descriptor) {
  std::array<pollfd, 2> watched{{
      {.fd = descriptor, .events = POLLIN, .revents = 0},
      {.fd = reads_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
  }};
  Event event;
  const int count = ::ppoll(watched.data(), watched.size(), nullptr, &mask_before_);
  take_signals(event);
  if (event.ended || gone_) {
    event.ended = true;
    return event;
  }
  if (count <= 0) return event;  // EINTR, or ENOMEM, which passes
  event.readable = watched[0].revents != 0;
  if (watched[1].revents == 0) return event;
  std::array<char, 256> buffer{};
  const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (size > 0) event.typed.assign(buffer.data(), static_cast<std::size_t>(size));
  // The end, or EIO: the terminal is gone.
  else if (size == 0 || errno != EINTR) event.ended = (watched[1].revents & POLLIN) == 0;
  return event;
}

void FullScreen::take_signals(Event& event) {
  if (ending != 0) {
    ended_by_ = ending;
    event.ended = true;
    return;
  }
  if (stop_wanted != 0) {
    stop_wanted = 0;
    stop_process();
    continued = 0;
    event.redraw = true;
  }
  // After SIGSTOP a shell may have changed the terminal.
  if (continued != 0) {
    continued = 0;
    leave();
    enter();
    event.redraw = true;
  }
  if (resized != 0) {
    resized = 0;
    write_all("\x1b[2J");
    event.redraw = true;
  }
}

bool FullScreen::write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {  // whoever shares the terminal has made it non-blocking
      pollfd writable{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
      continue;
    }
    gone_ = true;  // EIO
    return false;
  }
  return true;
}

}  // namespace h2server::app
