// Serves one folder: GET /files/{file_name} sends a file, POST /files stores the files of a form.
//
//   build/release/examples/files 8080 ./shared-files
//   curl -F file=@photo.jpg http://localhost:8080/files
//   curl -O http://localhost:8080/files/photo.jpg
//   curl --http2-prior-knowledge http://localhost:8080/countdown
#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>

using namespace h2server;

// A plain handler answers at once and costs no coroutine.
Response downloader(Request& request) {
  const FileRef file = load_file_from_filecache(request.param("file_name"));
  if (!file) return request.reply_404();
  return request.reply_ok_with_file(file);
}

// A coroutine handler waits for the client without blocking other requests.
Task<Response> uploader(std::string folder, Request& request) {
  if (is_cross_site(request)) co_return Response(403);
  auto stored = co_await store_uploads(request, folder);
  if (!stored) co_return std::move(stored.error());
  co_return created_response(*stored);
}

// A body produced while it is sent. The server asks for the next piece when it has room.
class Countdown : public BodySource {
 public:
  Task<Result<std::string_view>> read() override {
    if (left_ == 0) co_return std::string_view();
    const Result<void> slept = co_await sleep_for(std::chrono::milliseconds(100));
    if (!slept) co_return std::unexpected(Error{0, "the server stops"});
    line_ = std::to_string(left_--) + "\n";
    co_return std::string_view(line_);
  }

 private:
  int left_ = 10;
  std::string line_;
};

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s PORT FOLDER\n", argv[0]), 2;
  const std::string folder = argv[2];
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Server server({.port = port, .cleartext = true, .root = folder});
  server.add_handler(GET, "/files/{file_name}", downloader);
  server.add_handler(POST, "/files",
                     [folder](Request& request) { return uploader(folder, request); });
  server.add_handler(GET, "/countdown", [](Request&) {
    return Response(std::make_unique<Countdown>(), "text/plain");
  });
  const auto done = server.run();
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
