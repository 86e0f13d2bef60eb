// stages: serves one file over HTTP as a server does at each stage of its growth, so that the lab
// can measure what each step costs or saves.
//
//   stages --stage read|cache|router [--scheme reuseport|acceptor] [--cert FILE --key FILE]
//          [--port PORT] ROOT
//
//   read     opens, reads and closes the file for each request
//   cache    takes it from the file cache
//   router   the same, with several parameterised routes
//
// Prints the address on which it listens.
#include <fmt/format.h>
#include <h2server/h2server.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace h2server;

Response read_anew(const std::string& root, Request& request) {
  std::ifstream file(root + "/" + std::string(request.param("file_name")), std::ios::binary);
  if (!file) return request.reply_404();
  return Response(200, std::string(std::istreambuf_iterator<char>(file), {}), "text/html");
}

Response from_cache(Request& request) {
  const FileRef file = load_file_from_filecache(request.param("file_name"));
  if (!file) return request.reply_404();
  return request.reply_ok_with_file(file);
}

Response not_here(Request& request) { return request.reply_404(); }

void add_handlers(Server& server, const std::string& stage, const std::string& root) {
  if (stage == "read") {
    server.add_handler(GET, "/{file_name}",
                       [root](Request& request) { return read_anew(root, request); });
    return;
  }
  if (stage == "cache") {
    server.add_handler(GET, "/{file_name}", from_cache);
    return;
  }
  server.add_handler(GET, "/files/images/{file_name}", from_cache);
  server.add_handler(POST, "/files/images/{file_name}", not_here);
  server.add_handler(GET, "/files/docs/{file_name}", not_here);
  server.add_handler(POST, "/users/{user_num}", not_here);
}

}  // namespace

int main(int argc, char** argv) {
  std::string stage = "cache";
  ServerOptions options{.host = "127.0.0.1", .port = 0, .cleartext = true, .io = IoEngine::epoll};
  std::string scheme = "reuseport";
  CLI::App app("Serves one file as a server does at each stage of its growth");
  app.add_option("--stage", stage)->check(CLI::IsMember({"read", "cache", "router"}));
  app.add_option("--port", options.port);
  app.add_option("--scheme", scheme)->check(CLI::IsMember({"reuseport", "acceptor"}));
  const auto* certificate = app.add_option("--cert", options.certificate_file);
  app.add_option("--key", options.key_file)->needs(app.get_option("--cert"));
  app.add_option("root", options.root)->required()->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  options.cleartext = certificate->count() == 0;
  if (scheme == "acceptor") options.scheme = ServerScheme::acceptor;

  Server server(options);
  add_handlers(server, stage, options.root);
  const auto done = server.run([&server] {
    fmt::print("stages: listening on 127.0.0.1:{}\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) fmt::print(stderr, "stages: {}\n", done.error());
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
