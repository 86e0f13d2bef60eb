// The middleware of the library around a few routes.
//
//   build/release/examples/middleware 8080
//   curl -i http://127.0.0.1:8080/public
//   curl -i -u alice:secret http://127.0.0.1:8080/private
//   curl -i -X OPTIONS -H 'Origin: https://app.example' -H 'Access-Control-Request-Method: GET'
//        http://127.0.0.1:8080/private
//   curl -i 'http://127.0.0.1:8080/limited?[1-5]'
//
// Logs a line for each request on standard output.
#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace h2server;

// Runs inside of request_id().
void log_request(const Request& request, int status, std::chrono::microseconds duration) {
  std::printf("%.*s %d %lld us\n", static_cast<int>(request.path().size()), request.path().data(),
              status, static_cast<long long>(duration.count()));
  std::fflush(stdout);
}

std::string key_of(const Request& request) {
  return std::string(request.field("x-api-key").value_or(""));
}

Task<Response> wait(Request&) {
  const Result<void> slept = co_await sleep_for(std::chrono::seconds(60));
  co_return Response(slept ? 200 : 500);
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Server server({.host = "127.0.0.1", .port = port, .cleartext = true});
  server.set_error_handler(error_pages({{401, "<h1>Who are you?</h1>\n"}}));
  server.use(request_id());
  server.use(request_log(log_request));
  server.use(security_headers());
  server.use(cors({.origins = {"https://app.example"},
                   .request_fields = {"Authorization"},
                   .credentials = true}));
  server.get("/public", [](Request&) { return Response(200, "public\n"); });
  server.with(basic_authentication("private", "alice", "secret"))
      .get("/private", [](Request& request) {
        return Response(200, "hello, " + request.attached<AuthenticatedUser>()->name + "\n");
      });
  server.with(rate_limit({.key = key_of, .requests_per_s = 0.01, .burst_max = 3}))
      .get("/limited", [](Request&) { return Response(200, "not yet too many\n"); });
  server.with(timeout(std::chrono::milliseconds(20))).get("/slow", wait);
  const auto done = server.run([&server] {
    std::printf("http://127.0.0.1:%d/\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
