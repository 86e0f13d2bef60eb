#include "app/top/top.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "app/client/http_client.h"
#include "app/system/stop.h"
#include "app/system/terminal.h"
#include "app/top/full_screen.h"
#include "app/top/top_keys.h"
#include "app/top/top_screen.h"
#include "app/top/top_status.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text/text.h"

namespace h2server::app {

namespace {

constexpr std::chrono::seconds period{1};
constexpr std::size_t columns_min = 40;
constexpr std::size_t status_bytes_max = 16 * 1024 * 1024;
constexpr std::string_view unix_prefix = "unix:";

constexpr const char* top_help =
    "h2server top [--admin ADDRESS:PORT|unix:PATH] [--token TOKEN] [--once]\n"
    "Shows live what a server with --admin does.\n\n"
    "  --admin ADDRESS:PORT|unix:PATH  the server's admin listener [127.0.0.1:9000]\n"
    "  --token TOKEN                   what the server has as --admin-token\n"
    "  --once                          print it once, as if the output were no terminal\n\n"
    "Keys: q ends, s sorts the connections by the next column, arrows and PgUp, PgDn move in "
    "them.\n";

bool is_unix_path(std::string_view admin) {
  return admin.starts_with(unix_prefix) && admin.size() > unix_prefix.size();
}

bool is_address(std::string_view admin) {
  const std::size_t colon = admin.rfind(':');
  if (colon == 0 || colon == admin.npos || admin.find_first_of("/@?#% ") != admin.npos)
    return false;
  const auto port = base::parse_decimal(admin.substr(colon + 1));
  return port && *port > 0 && *port <= 65'535;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

// Asks the admin listener for its status.
class StatusSource {
 public:
  explicit StatusSource(const TopOptions& options)
      : admin_(options.admin),
        request_{.url = "http://localhost/-/status.json", .response_bytes_max = status_bytes_max} {
    if (is_unix_path(admin_)) request_.unix_path = admin_.substr(unix_prefix.size());
    else request_.url = "http://" + admin_ + "/-/status.json";
    if (!options.token.empty()) request_.fields.push_back("Authorization: Bearer " + options.token);
  }

  [[nodiscard]] Result<TopStatus, std::string> read() {
    const auto response = client_.fetch(request_);
    if (!response) {
      return std::unexpected(
          fmt::format("cannot reach the admin listener at {}: {}", admin_, response.error()));
    }
    if (response->status == 401 || response->status == 403) {
      return std::unexpected(
          fmt::format("the admin listener at {} wants its token: --token TOKEN", admin_));
    }
    if (response->status != 200) {
      return std::unexpected(
          fmt::format("{} answers {}; is it an admin listener?", admin_, response->status));
    }
    auto status = parse_top_status(response->body);
    if (!status) return std::unexpected(fmt::format("{}: {}", admin_, status.error()));
    return status;
  }
  // Any thread. Ends read().
  void give_up() noexcept { client_.give_up(); }

 private:
  const std::string admin_;
  HttpRequest request_;
  HttpClient client_;
};

// Reads the status once a second, on a thread of its own: a server that does not answer must not
// hold up the keys.
class Poller {
 public:
  using Reading = Result<TopStatus, std::string>;

  explicit Poller(StatusSource& source)
      : source_(source),
        ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { run(); }) {}
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    stop_.notify_one();
    source_.give_up();
    thread_.join();
  }

  // Becomes readable when there is something to take.
  [[nodiscard]] int descriptor() const noexcept { return ready_.get(); }
  [[nodiscard]] std::optional<Reading> take() {
    eventfd_t count = 0;
    ::eventfd_read(ready_.get(), &count);
    const std::lock_guard lock(mutex_);
    return std::exchange(reading_, std::nullopt);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, period, [this] { return stopped_; })) {
      lock.unlock();
      Reading reading = source_.read();
      lock.lock();
      reading_ = std::move(reading);
      ::eventfd_write(ready_.get(), 1);
    }
  }

  StatusSource& source_;
  base::Fd ready_;
  std::mutex mutex_;  // guards the next three
  std::condition_variable stop_;
  bool stopped_ = false;
  std::optional<Reading> reading_;
  std::thread thread_;
};

// The live view: what it knows, and how the user wants to see it.
class LiveView {
 public:
  LiveView(StatusSource& source, TopStatus first) : source_(source) {
    view_.colour = shows_colour();
    show(std::move(first));
  }

  void run() {
    FullScreen screen;
    Poller poller(source_);
    draw(screen);
    for (;;) {
      const FullScreen::Event event = screen.wait(poller.descriptor());
      if (event.ended) return;
      if (event.readable) take(poller);
      for (const Key key : parse_keys(event.typed)) {
        if (key == Key::quit) return;
        press(key);
      }
      if (event.readable || event.redraw || !event.typed.empty()) draw(screen);
    }
  }

 private:
  void take(Poller& poller) {
    auto reading = poller.take();
    if (!reading) return;
    if (*reading) show(std::move(**reading));
    else trouble_ = reading->error();
  }

  void show(TopStatus status) {
    const bool other_process = status.pid != status_.pid || status.uptime_s < status_.uptime_s;
    if (other_process) history_.clear();
    add_history(history_, status);
    status_ = std::move(status);
    trouble_.clear();
  }

  void press(Key key) {
    const std::size_t first = view_.first_connection;
    switch (key) {
      case Key::quit:
        return;
      case Key::sort:
        view_.order = next(view_.order);
        view_.first_connection = 0;
        return;
      case Key::up:
        view_.first_connection = first - std::min<std::size_t>(first, 1);
        return;
      case Key::down:
        ++view_.first_connection;
        return;
      case Key::page_up:
        view_.first_connection = first - std::min(first, page_);
        return;
      case Key::page_down:
        view_.first_connection += page_;
        return;
      case Key::home:
        view_.first_connection = 0;
        return;
      case Key::end:
        view_.first_connection = status_.connection_list.size();
        return;
    }
  }

  void draw(FullScreen& screen) {
    const FullScreen::Size size = FullScreen::size();
    view_.columns = std::max(columns_min, size.columns);
    view_.rows = std::max<std::size_t>(2, size.rows);
    view_.trouble = trouble_;
    const TopScreen drawn = top_screen(status_, history_, view_);
    view_.first_connection = drawn.first_connection;
    page_ = drawn.connections_on_page;
    screen.draw(drawn.lines);
  }

  StatusSource& source_;
  TopStatus status_;
  std::vector<TopSecond> history_;
  std::string trouble_;
  TopView view_;
  std::size_t page_ = 1;
};

int print_once(const TopStatus& status, bool terminal) {
  std::vector<TopSecond> history;
  add_history(history, status);
  const std::size_t columns = terminal ? FullScreen::size().columns : 100;
  const TopView view{
      .columns = std::max(columns_min, columns), .rows = 0, .colour = terminal && shows_colour()};
  std::string text;
  for (const std::string& line : top_screen(status, history, view).lines) {
    const std::size_t end = line.find_last_not_of(' ');
    text.append(line, 0, end == line.npos ? 0 : end + 1).append("\n");
  }
  if (std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0) return 0;
  const int error = errno;
  // Whoever reads a pipe may have seen enough.
  if (error != EPIPE) base::log_error("standard output: {}", std::strerror(error));
  return exit_failed;
}

Result<void, std::string> check_top(const TopOptions& options) {
  if (!is_unix_path(options.admin) && !is_address(options.admin)) {
    return std::unexpected(fmt::format(
        "--admin {}: expected ADDRESS:PORT, such as 127.0.0.1:9000, or unix:PATH", options.admin));
  }
  if (!is_printable(options.token)) return std::unexpected("--token: has a character of no token");
  return {};
}

}  // namespace

Result<TopOptions, std::string> parse_top_options(const std::vector<std::string>& arguments) {
  TopOptions options;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool flag = name == "--once" || name == "--help" || name == "-h";
    if (!flag && name != "--admin" && name != "--token") {
      return std::unexpected(fmt::format("h2server top does not know {}", argument));
    }
    if (flag) {
      if (equals != std::string::npos) return std::unexpected(name + " takes no value");
      (name == "--once" ? options.once : options.help) = true;
      continue;
    }
    if (equals == std::string::npos && ++at == arguments.size()) {
      return std::unexpected(name + " takes a value");
    }
    (name == "--admin" ? options.admin : options.token) =
        equals == std::string::npos ? arguments[at] : argument.substr(equals + 1);
  }
  const Result<void, std::string> checked = check_top(options);
  if (!checked) return std::unexpected(checked.error());
  return options;
}

int top(int argc, char** argv) {
  const auto options = parse_top_options({argv + 1, argv + argc});
  if (!options) {
    base::log_error("{}", options.error());
    return exit_wrong_use;
  }
  if (options->help) {
    std::fputs(top_help, stdout);
    return 0;
  }
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write()
  StatusSource source(*options);
  Result<TopStatus, std::string> first = source.read();
  if (!first) {
    base::log_error("{}", first.error());
    return exit_failed;
  }
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (options->once || !terminal) return print_once(*first, terminal);
  LiveView(source, std::move(*first)).run();
  return 0;
}

}  // namespace h2server::app
