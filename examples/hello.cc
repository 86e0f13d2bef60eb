// The smallest server: a text, a parameter of the path, and JSON.
//
//   build/release/examples/hello 8080
//   curl http://127.0.0.1:8080/
//   curl http://127.0.0.1:8080/hello/Ada
//   curl 'http://127.0.0.1:8080/sum?a=2&b=3'
#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>

using namespace h2server;

Response sum(Request& request) {
  const Parameters parameters = request.query_parameters();
  long total = 0;
  for (const Parameter& one : parameters) total += std::atol(one.value.c_str());
  return Response::json("{\"sum\":" + std::to_string(total) + "}\n");
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Server server({.host = "127.0.0.1", .port = port, .cleartext = true});
  server.get("/", [](Request&) { return Response::text("Hello!\n"); });
  server.get("/hello/{name}", [](Request& request) {
    return Response::text("Hello, " + std::string(request.param("name")) + "!\n");
  });
  server.get("/sum", sum);
  const auto done = server.run([&server] {
    std::printf("http://127.0.0.1:%d/\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
