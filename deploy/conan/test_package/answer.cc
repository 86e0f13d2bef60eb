// Starts a server and stops it.
#include <h2server/h2server.h>

#include <cstdio>

int main() {
  using namespace h2server;
  Server server({.host = "127.0.0.1", .port = 0, .cleartext = true});
  server.add_handler(GET, "/hello", [](Request&) { return Response(200, "hello\n"); });
  if (const auto started = server.start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().c_str());
    return 1;
  }
  std::printf("port %d, engine %s\n", server.addresses().front().port,
              server.engine().name.c_str());
  server.stop();
  return server.wait() ? 0 : 1;
}
