// A server without threads, in the loop of a program that has other things to do: here it reads
// lines from standard input and serves the last one.
//
//   build/release/examples/embedded 8080
//   curl http://127.0.0.1:8080/          # what was typed last
//
// The program ends with the input, or with the line "quit". See also embedded_glib.cc.
#include <h2server/h2server.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace h2server;

// Needs no lock: handlers run inside of Server::poll(), on the only thread.
struct Notice {
  std::string line = "nothing yet";
  std::string input;
  bool over = false;

  void read() {
    char bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count <= 0) over = true;
    else input.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = input.find('\n')) != std::string::npos;) {
      line = input.substr(0, end);
      input.erase(0, end + 1);
      if (line == "quit") over = true;
    }
  }
};

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Notice notice;
  Server server({.host = "127.0.0.1", .port = port, .cleartext = true, .foreign_loop = true});
  server.get("/", [&notice](Request&) { return Response::text(notice.line + "\n"); });
  if (const auto started = server.start(); !started) {
    return std::fprintf(stderr, "%s\n", started.error().c_str()), 1;
  }
  std::printf("http://127.0.0.1:%d/\n", server.addresses().front().port);
  std::fflush(stdout);

  while (!server.ended()) {
    pollfd watched[] = {{.fd = server.descriptor(), .events = POLLIN, .revents = 0},
                        {.fd = notice.over ? -1 : STDIN_FILENO, .events = POLLIN, .revents = 0}};
    if (::poll(watched, 2, -1) < 0) continue;  // a signal
    if (watched[0].revents != 0) server.poll();
    if (watched[1].revents != 0) notice.read();
    if (watched[1].revents != 0 && notice.over) server.stop();
  }
  return server.wait() ? 0 : 1;
}
