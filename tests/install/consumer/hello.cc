#include <h2server/h2server.h>

#include <cstdio>

using namespace h2server;

int main() {
  Server server({.port = 8080, .cleartext = true});
  server.add_handler(GET, "/hello/{name}", [](Request& request) {
    return Response(200, "hello " + std::string(request.param("name")) + "\n");
  });
  const auto done = server.run();  // until SIGINT or SIGTERM
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
