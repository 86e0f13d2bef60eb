#include "app/certificates/passphrase.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "app/system/terminal.h"
#include "base/fd.h"

namespace h2server::app {

namespace {

constexpr std::size_t passphrase_bytes_max = 1024;  // OpenSSL takes no more

volatile std::sig_atomic_t came = 0;  // one of ending_signals, or 0

// While it lives, ending_signals interrupt this thread's system calls, even if they were blocked.
// The destructor restores everything and raises the signal that came.
class InterruptingSignals {
 public:
  InterruptingSignals() {
    came = 0;
    struct sigaction noting{};
    noting.sa_handler = [](int signal) { came = signal; };  // no SA_RESTART
    sigset_t set;
    sigemptyset(&set);
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      ::sigaction(ending_signals[i], &noting, &before_[i]);
      sigaddset(&set, ending_signals[i]);
    }
    ::pthread_sigmask(SIG_UNBLOCK, &set, &mask_before_);
  }
  InterruptingSignals(const InterruptingSignals&) = delete;
  InterruptingSignals& operator=(const InterruptingSignals&) = delete;
  ~InterruptingSignals() {
    for (std::size_t i = 0; i < ending_signals.size(); ++i) {
      ::sigaction(ending_signals[i], &before_[i], nullptr);
    }
    if (came != 0) ::raise(came);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }

 private:
  std::array<struct sigaction, ending_signals.size()> before_{};
  sigset_t mask_before_{};
};

class WithoutEcho {
 public:
  explicit WithoutEcho(int terminal) : terminal_(terminal) {
    ::tcgetattr(terminal, &before_);
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ICANON | ISIG | ECHONL;
    ::tcsetattr(terminal, TCSAFLUSH, &silent);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;
  ~WithoutEcho() { ::tcsetattr(terminal_, TCSAFLUSH, &before_); }

 private:
  int terminal_;
  termios before_{};
};

// Returns a line without its newline, or nullopt if no whole line came.
std::optional<std::string> read_line(int terminal) {
  std::string line;
  line.reserve(passphrase_bytes_max);  // never reallocated, so there is only one copy
  while (came == 0 && line.size() < passphrase_bytes_max) {
    char byte = 0;
    const ssize_t count = ::read(terminal, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    if (byte == '\n') return line;
    line += byte;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string, std::string> ask_passphrase(const std::string& key_file) {
  const base::Fd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.valid()) {
    return std::unexpected(
        std::string("it is encrypted, and there is no terminal to ask for its passphrase"));
  }
  const InterruptingSignals signals;
  const WithoutEcho silence(terminal.get());
  const std::string prompt = fmt::format("Passphrase of {}: ", key_file);
  const ssize_t written = ::write(terminal.get(), prompt.data(), prompt.size());
  std::optional<std::string> line;
  if (written >= 0) line = read_line(terminal.get());
  if (!line) return std::unexpected(std::string("it is encrypted, and no passphrase was given"));
  return *std::move(line);
}

}  // namespace h2server::app
