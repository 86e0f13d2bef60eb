// library: small handlers on the public library, so that the lab can measure what each kind costs.
//
//   library [--port PORT] [--spin-steps N] [--body FILE] ROOT
//
//   /file/…      a file from the cache
//   /text        13 bytes, by a plain function, which first takes N steps of a loop, 0 otherwise
//   /encoded/…   the bytes of FILE, as text that compression() encodes for each request
//   /json        a JSON object with two members, by a plain function
//   /coroutine   13 bytes, by a coroutine that completes at once
//   /blocking    13 bytes, by a call on another thread
//   /middleware  13 bytes, behind ten middlewares that do nothing
//   POST /echo   the request's body, of at most 1 MiB
//   /events      a stream of events; POST /event sends one with the request's body to all
//
// One worker. Prints the address on which it listens.
#include <fmt/format.h>
#include <h2server/h2server.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace {

using namespace h2server;

constexpr std::string_view text = "Hello, World!";
constexpr std::size_t body_bytes_max = 1024 * 1024;

// Computes for that many steps, which the compiler can neither skip nor do at once.
void spin(std::uint64_t steps) {
  for (std::uint64_t step = 0; step < steps; ++step) asm volatile("" : "+r"(step));
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Response from_cache(Request& request) {
  const FileRef file = load_file_from_filecache(request.param("path"));
  if (!file) return request.reply_404();
  return request.reply_ok_with_file(file);
}

Task<Response> at_once(Request&) { co_return Response::text(std::string(text)); }

Task<Response> on_a_thread(Request&) {
  Result<std::string> made = co_await run_blocking([] { return std::string(text); });
  co_return Response::text(std::move(made.value()));
}

Task<Response> echo(Request& request) {
  Result<std::string> body = co_await request.read_all(body_bytes_max);
  co_return Response::text(std::move(body.value()));
}

Task<Response> send_event(EventStream& stream, Request& request) {
  const Result<std::string> body = co_await request.read_all(body_bytes_max);
  stream.send({.data = body.value()});
  co_return Response::no_content();
}

void add_encoded(Server& server, std::string body) {
  Routes encoded = server.routes();
  encoded.use(compression());
  encoded.get("/encoded/{name}",
              [body = std::move(body)](Request&) { return Response::text(body); });
}

void add_routes(Server& server, EventStream& stream, std::uint64_t spin_steps) {
  const auto plain = [](Request&) { return Response::text(std::string(text)); };
  server.get("/file/{path...}", from_cache);
  server.get("/text", [spin_steps](Request&) {
    spin(spin_steps);
    return Response::text(std::string(text));
  });
  server.get("/json", [](Request&) {
    return Response::json(fmt::format(R"({{"message":{},"count":{}}})", json_string(text), 7));
  });
  server.get("/coroutine", at_once);
  server.get("/blocking", on_a_thread);
  server.post("/echo", echo);
  server.get("/events", [&stream](Request& request) { return stream.subscribe(request); });
  server.post("/event", [&stream](Request& request) { return send_event(stream, request); });
  Routes behind = server.routes();
  for (int i = 0; i < 5; ++i) {
    behind.use([](Request&) { return std::optional<Response>(); });
    behind.use([](Request&, Response&) {});
  }
  behind.get("/middleware", plain);
}

}  // namespace

int main(int argc, char** argv) {
  ServerOptions options{.host = "127.0.0.1", .port = 0, .cleartext = true};
  options.connections_per_address_max = 1'000'000;  // all clients have one
  CLI::App app("Small handlers on the public library");
  std::uint64_t spin_steps = 0;
  std::string body_file;
  app.add_option("--port", options.port);
  app.add_option("--spin-steps", spin_steps);
  app.add_option("--body", body_file)->check(CLI::ExistingFile);
  app.add_option("root", options.root)->required()->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  Server server(options);
  EventStream stream;
  add_routes(server, stream, spin_steps);
  if (!body_file.empty()) add_encoded(server, content_of(body_file));
  const auto done = server.run([&server] {
    fmt::print("library: listening on 127.0.0.1:{}\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) fmt::print(stderr, "library: {}\n", done.error());
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
