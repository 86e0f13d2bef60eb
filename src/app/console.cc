#include "app/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "app/system/qr_code.h"
#include "base/text/secrets.h"
#include "http/message.h"

namespace h2server::app {

namespace {

constexpr unsigned lines_per_s_max = 20;             // of one worker; nobody reads more
constexpr std::size_t lines_bytes_max = 256 * 1024;  // if the terminal does not take them
constexpr std::size_t target_bytes_max = 200;

// Returns text without what a terminal would obey: its controls, and bytes that are not ASCII,
// since targets are (RFC 9110, 4.1).
std::string shown_target(std::string_view text) {
  std::string shown(text.substr(0, target_bytes_max));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > target_bytes_max) shown += "...";
  return shown;
}

std::string_view colour_of(int status) {
  if (status < 300) return "\x1b[32m";
  if (status < 400) return "\x1b[36m";
  return status < 500 ? "\x1b[33m" : "\x1b[31m";
}

std::string clock_time(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string request_line(const Request& request, const Response& response, bool colour) {
  const std::string_view begin = colour ? colour_of(response.status()) : "";
  const std::string_view end = colour ? "\x1b[0m" : "";
  std::string room;
  const std::string target = shown_target(base::hide_secrets(request.head().target, room));
  return fmt::format("  {}  {}{}{}  {} {}  {}\n", clock_time(request.received_s()), begin,
                     response.status(), end, request.head().method_name, target,
                     request.connection().client().host);
}

// In the background, reading or changing the terminal would stop the whole program.
bool owns_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

}  // namespace

std::unique_ptr<Console> Console::open(const ConsoleOptions& options) {
  if (::isatty(STDOUT_FILENO) != 1) return nullptr;
  auto console = std::make_unique<Console>(options);
  return console->out_.valid() ? std::move(console) : nullptr;  // the terminal of another user
}

Console::Console(const ConsoleOptions& options)
    : options_(options),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      // Opened anew, since O_NONBLOCK would hold for all that share the terminal's description.
      out_(::open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}

Console::~Console() { stop(); }

Middleware Console::request_lines() {
  return [this](Request& request, Response& response) { note(request, response); };
}

Middleware Console::upload_switch() {
  return [this](Request&) -> std::optional<Response> {
    if (uploads_on_.load(std::memory_order_relaxed)) return std::nullopt;
    return http::error_response(403);
  };
}

void Console::note(const Request& request, const Response& response) {
  struct Budget {
    std::int64_t second = 0;
    unsigned printed = 0;
    std::uint64_t skipped = 0;
  };
  thread_local Budget budget;  // of this worker
  if (request.received_s() != budget.second) {
    budget.second = request.received_s();
    budget.printed = 0;
    if (budget.skipped > 0) {
      print(fmt::format("            and {} more\n", std::exchange(budget.skipped, 0)));
    }
  }
  if (budget.printed == lines_per_s_max) {
    ++budget.skipped;
    return;
  }
  ++budget.printed;
  print(request_line(request, response, options_.colour));
}

// A terminal that is stopped (Ctrl-S) holds up this class's thread only.
void Console::print(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() + line.size() > lines_bytes_max) {
      ++skipped_;
      return;
    }
    lines_ += line;
  }
  ::eventfd_write(wake_.get(), 1);
}

// Takes what is to be printed, if the terminal has taken what came before: so both are bounded.
void Console::take_lines() {
  const std::lock_guard lock(mutex_);
  pending_.swap(lines_);
  if (skipped_ > 0) {
    pending_ += fmt::format("            and {} more\n", std::exchange(skipped_, 0));
  }
}

// Writes what the terminal takes now. Returns true if that was all.
bool Console::flush() {
  for (;;) {
    if (pending_.empty()) take_lines();
    if (pending_.empty()) return true;
    const ssize_t count = ::write(out_.get(), pending_.data(), pending_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) return true;  // EIO: the terminal is gone, and nobody will read the rest
    pending_.erase(0, static_cast<std::size_t>(count));
  }
}

void Console::start(std::string url, std::function<std::string()> report) {
  url_ = std::move(url);
  report_ = std::move(report);
  stopped_.store(false);
  termios settings{};
  if (owns_terminal() && ::tcgetattr(STDIN_FILENO, &settings) == 0) {
    before_ = settings;
    settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  }
  thread_ = std::thread([this] { run(); });
}

void Console::stop() noexcept {
  stopped_.store(true);
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  if (before_ && owns_terminal()) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  before_.reset();
}

void Console::run() {
  bool reads = before_.has_value();
  bool flushed = true;
  while (!stopped_.load()) {
    std::array<pollfd, 3> watched{{
        {.fd = wake_.get(), .events = POLLIN, .revents = 0},
        {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
        {.fd = flushed ? -1 : out_.get(), .events = POLLOUT, .revents = 0},
    }};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;  // ENOMEM
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
    if (watched[1].revents != 0) {
      char key = 0;
      // The end of the input, or an error such as EIO of a terminal that is gone.
      if (!owns_terminal() || ::read(STDIN_FILENO, &key, 1) != 1) reads = false;
      else handle_key(key);
    }
    flushed = flush();
  }
  flush();
}

void Console::handle_key(char key) {
  switch (key) {
    case 'q': {
      const QrCode code = make_qr_code(url_);
      print(fmt::format("\n{}  {}\n\n", code.text, url_));
      break;
    }
    case 's':
      print("\n" + report_() + "\n");
      break;
    case 'u':
      if (!options_.uploads) {
        print("  there are no uploads to switch: start with --upload-dir DIR\n");
        break;
      }
      uploads_on_.store(!uploads_on_.load());
      print(uploads_on_.load() ? "  uploads are on\n" : "  uploads are off\n");
      break;
    default:
      print(options_.uploads
                ? "  keys: q QR code, s statistics, u uploads on or off, Ctrl-C stops\n"
                : "  keys: q QR code, s statistics, Ctrl-C stops\n");
      break;
  }
}

}  // namespace h2server::app
