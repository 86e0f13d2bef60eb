// Echoes the request's body and adds trailer fields (RFC 9110, 6.5): its size in bytes, and the
// trailer fields of the request.
//
//   build/release/examples/trailers 8080
//   curl --raw -H "Transfer-Encoding: chunked" --data abc http://127.0.0.1:8080/echo
//   nghttp -v --trailer 'sum: 6' --data=README.md http://127.0.0.1:8080/echo
//
// gRPC ends its responses in this way. HTTP/1.1 carries trailer fields only after a body without a
// size.
#include <h2server/h2server.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace h2server;

class Echo : public BodySource {
 public:
  Echo(std::string text, std::span<const Field> received)
      : text_(std::move(text)), size_(std::to_string(text_.size())) {
    for (const Field& field : received) {
      lines_.push_back({"Echo-" + std::string(field.name), std::string(field.value)});
    }
    fields_.push_back({"Size", size_});
    for (const Response::Line& line : lines_) fields_.push_back({line.name, line.value});
  }

  Task<Result<std::string_view>> read() override {
    co_return std::exchange(ended_, true) ? std::string_view() : std::string_view(text_);
  }
  std::span<const Field> trailers() const noexcept override { return fields_; }

 private:
  std::string text_;
  std::string size_;
  std::vector<Response::Line> lines_;
  std::vector<Field> fields_;
  bool ended_ = false;
};

Task<Response> echo(Request& request) {
  Result<std::string> text = co_await request.read_all(1 << 20);
  if (!text) co_return Response(413);
  auto source = std::make_unique<Echo>(*std::move(text), request.trailers());
  Response response(std::move(source), "application/octet-stream");
  response.add("Trailer", "Size");  // announces the field; optional
  co_return std::move(response);
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s PORT\n", argv[0]), 2;
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  Server server({.host = "127.0.0.1", .port = port, .cleartext = true});
  server.add_handler(POST, "/echo", echo);
  const auto done = server.run([&server] {
    std::printf("http://127.0.0.1:%d/\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
