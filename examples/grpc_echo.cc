// A gRPC service (https://grpc.io, "gRPC over HTTP2") with all four forms of calls, on the public
// interface alone. Its messages are bytes that it does not look into.
//
//   build/release/examples/grpc_echo 8080
//   build/release/examples/grpc_echo 8443 epoll native server.crt server.key
//
// Unary         the message back
// ServerStream  the message as many times as the metadata field "times" says
// ClientStream  the number of messages and of their bytes, as text
// Bidi          each message back at once
// Slow          nothing, until the client cancels or the deadline passes
// Stats         how many calls have ended in that way, as text
#include <h2server/h2server.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace h2server;

enum class Code {
  ok = 0,
  cancelled,
  unknown,
  invalid_argument,
  deadline_exceeded,
  resource_exhausted = 8,
  unimplemented = 12,
  internal,
  unavailable
};

// How a call ends. Thrown to end it early.
struct Status {
  Code code;
  std::string message = {};
};

// Cuts a body into its messages. Each has a prefix of five bytes: 1 if it is compressed, and its
// size, the most significant byte first.
class MessageDecoder {
 public:
  // Returns the next message, and removes it from `bytes`; nullopt if all bytes are taken before
  // its end. Throws a Status.
  std::optional<std::string> decode(std::string_view& bytes) {
    while (prefix_size_ < prefix_.size() && !bytes.empty()) {
      prefix_[prefix_size_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
    }
    if (prefix_size_ < prefix_.size()) return std::nullopt;
    if (prefix_[0] != 0) throw Status{Code::unimplemented, "compressed messages are not supported"};
    std::size_t size = 0;
    for (std::size_t i = 1; i < prefix_.size(); ++i) size = size << 8 | prefix_[i];
    if (size > size_max) throw Status{Code::resource_exhausted, "the message is over 4 MiB"};
    const std::string_view part = bytes.substr(0, size - message_.size());
    message_.append(part);
    bytes.remove_prefix(part.size());
    if (message_.size() < size) return std::nullopt;
    prefix_size_ = 0;
    return std::exchange(message_, {});
  }
  // Returns true if a part of a message has been taken.
  [[nodiscard]] bool is_within_message() const { return prefix_size_ > 0; }

  static std::string encode(std::string_view message) {
    std::string bytes(1, '\0');
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(message.size() >> shift);
    return bytes.append(message);
  }

 private:
  static constexpr std::size_t size_max = std::size_t{4} << 20;  // as the gRPC libraries have it

  std::array<unsigned char, 5> prefix_{};
  std::size_t prefix_size_ = 0;
  std::string message_;
};

// Each function throws a Status, or what Result::value() throws.
class Call {
 public:
  explicit Call(Exchange& exchange) : exchange_(exchange) {}

  // Returns the next message; nullopt after the last one.
  Task<std::optional<std::string>> read() {
    for (;;) {
      std::optional<std::string> message = decoder_.decode(unread_);
      if (message) co_return std::move(message);
      const Result<std::string_view> piece = co_await exchange_.request().read();
      if (piece.value().empty()) break;
      unread_ = *piece;
    }
    if (decoder_.is_within_message()) throw Status{Code::internal, "the last message is cut"};
    co_return std::nullopt;
  }
  // Returns the only message.
  Task<std::string> read_one() {
    std::optional<std::string> message = co_await read();
    if (!message) throw Status{Code::internal, "no message"};
    const std::optional<std::string> another = co_await read();
    if (another) throw Status{Code::internal, "more than one message"};
    co_return *std::move(message);
  }
  Task<void> write(std::string message) {
    std::string bytes = MessageDecoder::encode(message);
    const Result<void> written = co_await exchange_.write(std::move(bytes));
    written.value();
  }
  [[nodiscard]] std::optional<std::string_view> metadata(std::string_view name) const {
    return exchange_.request().field(name);
  }

 private:
  Exchange& exchange_;
  MessageDecoder decoder_;
  std::string_view unread_;  // of the last piece of the request's body
};

// --- the protocol around a call -----------------------------------------------------------------

// The grpc-timeout field: up to eight digits and a unit.
std::chrono::milliseconds parse_timeout(std::string_view text) {
  static constexpr std::string_view units = "HMSmun";
  static constexpr double ms_of_unit[] = {3.6e6, 6e4, 1e3, 1, 1e-3, 1e-6};
  unsigned count = 0;
  const char* const end = text.data() + text.size();
  const char* const unit = std::from_chars(text.data(), end, count).ptr;
  const bool good = unit != text.data() && unit + 1 == end && text.size() <= 9;
  const std::size_t index = good ? units.find(*unit) : units.npos;
  if (index == units.npos) throw Status{Code::internal, "malformed grpc-timeout"};
  return std::chrono::milliseconds(std::llround(std::ceil(count * ms_of_unit[index])));
}

// RFC 3986, 2.1, of all bytes but the visible ones of ASCII and the space.
std::string percent_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~' && byte != '%') encoded += c;
    else encoded += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return encoded;
}

std::vector<Response::Line> trailers_of(const Status& status) {
  return {{"grpc-status", std::to_string(static_cast<int>(status.code))},
          {"grpc-message", percent_encode(status.message)}};
}

Response head() { return Response(200).add("content-type", "application/grpc"); }

// The status of a call that a failed read, write or wait has ended.
Status status_of(StopReason reason) {
  if (reason == StopReason::client_left) return {Code::cancelled};
  if (reason == StopReason::deadline) return {Code::deadline_exceeded, "the deadline has passed"};
  if (reason == StopReason::server_stops) return {Code::unavailable, "the server stops"};
  return {Code::unknown};
}

std::atomic<int> cancelled{0};
std::atomic<int> overdue{0};

using Procedure = Task<void> (*)(Call&);

Task<void> serve(Exchange& exchange, Procedure procedure) {
  Request& request = exchange.request();
  if (!request.field("content-type").value_or("").starts_with("application/grpc")) {
    exchange.respond(Response(415));
    co_return;
  }
  exchange.respond(head());
  Status status{Code::ok};
  try {
    // Without it, a proxy on the way may drop the trailer fields, and so the status.
    if (request.field("te") != "trailers") throw Status{Code::internal, "te: trailers is missing"};
    const auto timeout = request.field("grpc-timeout");
    if (timeout) request.set_deadline(parse_timeout(*timeout));
    Call call(exchange);
    co_await procedure(call);
  } catch (const Status& thrown) {
    status = thrown;
  } catch (const std::exception&) {
    status = status_of(exchange.stop_token().reason());
  }
  if (status.code == Code::cancelled) ++cancelled;
  if (status.code == Code::deadline_exceeded) ++overdue;
  exchange.finish(trailers_of(status));
}

// A head with the status and the end of the stream: "Trailers-Only".
Task<Response> refuse_method(Request& request) {
  // Read first: libnghttp2 resets a stream that is answered early, which clients take for a
  // failure.
  [[maybe_unused]] const Result<std::string> dropped = co_await request.read_all(1 << 20);
  Response response = head();
  for (const auto& line : trailers_of({Code::unimplemented, "no such method"}))
    response.add(line.name, line.value);
  co_return std::move(response);
}

// --- the service --------------------------------------------------------------------------------

Task<void> unary(Call& call) {
  std::string message = co_await call.read_one();
  co_await call.write(std::move(message));
}

Task<void> stream_to_client(Call& call) {
  const std::string message = co_await call.read_one();
  const std::string_view times = call.metadata("times").value_or("1");
  unsigned count = 0;
  if (std::from_chars(times.data(), times.data() + times.size(), count).ec != std::errc())
    throw Status{Code::invalid_argument, "times is no number: " + std::string(times)};
  for (; count > 0; --count) co_await call.write(message);
}

Task<void> stream_to_server(Call& call) {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  for (;; ++messages) {
    const std::optional<std::string> message = co_await call.read();
    if (!message) break;
    bytes += message->size();
  }
  co_await call.write(std::to_string(messages) + " " + std::to_string(bytes));
}

Task<void> stream_both_ways(Call& call) {
  for (;;) {
    std::optional<std::string> message = co_await call.read();
    if (!message) co_return;
    co_await call.write(*std::move(message));
  }
}

Task<void> wait_long(Call&) {
  const Result<void> slept = co_await sleep_for(std::chrono::hours(1));
  slept.value();
}

Task<void> report(Call& call) {
  const std::string text = std::to_string(cancelled) + " " + std::to_string(overdue);
  co_await call.write(text);
}

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.empty() || words.size() == 4 || words.size() > 5)
    return std::fprintf(stderr, "usage: %s PORT [IO [HTTP2 [CERTIFICATE KEY]]]\n", argv[0]), 2;
  ServerOptions options{.host = "127.0.0.1", .cleartext = words.size() < 5};
  options.port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  if (words.size() > 1) options.io = words[1] == "epoll" ? IoEngine::epoll : IoEngine::io_uring;
  if (words.size() > 2 && words[2] == "nghttp2") options.http2 = Http2Implementation::nghttp2;
  if (!options.cleartext) options.certificate_file = words[3], options.key_file = words[4];

  Server server(options);
  Routes methods = server.group("/echo.Echo");
  const auto add = [&](std::string_view path, Procedure procedure) {
    methods.post(path, [procedure](Exchange& exchange) { return serve(exchange, procedure); });
  };
  add("/Unary", unary);
  add("/ServerStream", stream_to_client);
  add("/ClientStream", stream_to_server);
  add("/Bidi", stream_both_ways);
  add("/Slow", wait_long);
  add("/Stats", report);
  server.post("/{method...}", refuse_method);
  const auto done = server.run([&server] {
    std::printf("127.0.0.1:%d\n", server.addresses().front().port);
    std::fflush(stdout);
  });
  if (!done) std::fprintf(stderr, "%s\n", done.error().c_str());
  return done ? 0 : 1;
}
