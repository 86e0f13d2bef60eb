// Uses what programs take from the library across its border: coroutines and their frames, sources
// of bodies, exceptions. Serves until standard input ends: consumer ENGINE
#include <h2server/h2server.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

using namespace h2server;

namespace {

// Suspends before each piece.
class Countdown : public BodySource {
 public:
  Task<Result<std::string_view>> read() override {
    if (left_ == 0) co_return std::string_view();
    const auto slept = co_await sleep_for(std::chrono::milliseconds(1));
    if (!slept) co_return std::unexpected(Error{0, "the server stops"});
    line_ = std::to_string(left_--) + "\n";
    co_return std::string_view(line_);
  }

 private:
  int left_ = 3;
  std::string line_;
};

Response hello(Request& request) {
  Response response(200, "hello " + std::string(request.param("name")) + "\n");
  response.add("x-engine", "set");
  return response;
}

Task<Response> echo(Request& request) {
  auto text = co_await request.read_all(1000);
  if (!text) co_return Response(413);
  co_return Response(200, *text);
}

Task<bool> yes() { co_return true; }

// GCC 12 miscompiles it. The library has to see what the program noted on this thread.
Task<Response> condition(Request& /*request*/) {
  if (co_await yes()) co_return Response(200, "started\n");
  co_return Response(404);
}

bool refuses_bad_fields() {
  try {
    Response().add("bad name", "value");
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

IoEngine engine_of(std::string_view name) {
  if (name == "epoll") return IoEngine::epoll;
  return name == "io_uring" ? IoEngine::io_uring : IoEngine::automatic;
}

}  // namespace

int main(int argc, char** argv) {
  if (!refuses_bad_fields()) return 3;
  const IoEngine engine = engine_of(argc > 1 ? argv[1] : "automatic");
  Server server({.host = "127.0.0.1", .port = 0, .cleartext = true, .io = engine});
  server.add_handler(GET, "/hello/{name}", hello);
  server.add_handler(POST, "/echo", echo);
  server.add_handler(GET, "/condition", condition);
  server.add_handler(GET, "/countdown", [](Request&) {
    return Response(std::make_unique<Countdown>(), "text/plain");
  });
  if (const auto started = server.start(); !started) {
    std::cerr << started.error() << '\n';
    return 1;
  }
  std::cout << "port " << server.addresses().front().port << '\n'
            << "engine " << server.engine().name << ": " << server.engine().reason << std::endl;
  while (std::cin.get() != std::istream::traits_type::eof()) {
  }
  server.stop();
  return server.wait() ? 0 : 1;
}
