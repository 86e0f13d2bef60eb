#include "h2server/compression.h"

#include "content/coding/coding.h"
#include "content/decode.h"
#include "h2server/channel.h"
#include "h2server/test_client.h"
#include "http/fields/syntax.h"
#include "http/middleware_support.h"

namespace h2server {
namespace compression_test {

using content::Coding;
using tests::decode_body;
using tests::FakeBody;
using tests::FieldRows;
using tests::Passage;
using tests::words;

const std::string text = words(5000);
const FieldRows all = {{"accept-encoding", "gzip, deflate, br, zstd"}};
const std::vector<std::string> coding_names = {"gzip", "br", "zstd"};

std::string find(const Response& response, std::string_view name) {
  return std::string(response.find(name).value_or("-"));
}

// Returns the bytes of a string or a source; appends "!" after an error.
std::string bytes_of(Response& response) {
  if (const auto* const whole = std::get_if<std::string>(&response.body())) return *whole;
  auto* const streamed = std::get_if<Response::Streamed>(&response.body());
  if (streamed == nullptr) return {};
  std::string bytes;
  for (;;) {
    const Result<std::string_view> piece = tests::run_now(streamed->source->read());
    if (!piece) return bytes + "!";
    if (piece->empty()) return bytes;
    bytes += *piece;
  }
}

Response response_with(Response (*make)(), const FieldRows& fields, Method method = GET) {
  Passage passage(compression());
  passage.handler = [make](Request&) { return make(); };
  return passage.ask(method, fields);
}

Response plain() { return Response::text(text); }

TEST(Compression, ChoosesByQuality) {
  struct Row {
    std::string accept;
    std::string coding;
  };
  const std::vector<Row> rows = {
      {"gzip, deflate, br, zstd", "zstd"},
      {"gzip, deflate, br", "br"},
      {"gzip", "gzip"},
      {"compress, gzip", "gzip"},  // RFC 9110, 12.5.3
      {"compress;q=0.5, gzip;q=1.0", "gzip"},
      {"gzip;q=1.0, identity; q=0.5, *;q=0", "gzip"},
      {"x-gzip", "gzip"},
      {"GZIP", "gzip"},
      {"gzip;q=0.9, br;q=0.8, zstd;q=0.7", "gzip"},
      {"gzip;q=0.1, br;q=0.2", "br"},
      {"zstd;q=0, *", "br"},
      {"*", "zstd"},
      {"*;q=0.5, gzip", "gzip"},
      {"gzip;q=0", "-"},
      {"deflate", "-"},
      {"identity", "-"},
      {"identity, gzip", "gzip"},  // equals: the server's preference
      {"identity, gzip;q=0.5", "-"},
      {"gzip;q=0.001", "gzip"},
      {"", "-"},
      {"*;q=0", "-"},  // nothing is acceptable: identity rather than 406
      {"identity;q=0", "-"},
      {"identity;q=0, gzip", "gzip"},
      {"identity;q=0, compress", "-"},
  };
  for (const Row& row : rows) {
    Response response = response_with(plain, {{"accept-encoding", row.accept}});
    EXPECT_EQ(response.status(), 200) << row.accept;
    EXPECT_EQ(find(response, "Content-Encoding"), row.coding) << row.accept;
    EXPECT_EQ(find(response, "Vary"), "Accept-Encoding") << row.accept;
    EXPECT_EQ(decode_body(row.coding, bytes_of(response)), text) << row.accept;
  }
  Response response = response_with(plain, {});
  EXPECT_EQ(find(response, "Content-Encoding"), "-");
  EXPECT_EQ(find(response, "Vary"), "Accept-Encoding");
  EXPECT_EQ(bytes_of(response), text);
}

TEST(Compression, LeavesOtherResponsesAsTheyAre) {
  const std::vector<Response (*)()> makes = {
      [] { return Response::text(words(1023)); },
      [] { return Response(200, text, "image/png"); },
      [] { return Response(200, text, "text/event-stream"); },
      [] { return plain().add("Content-Encoding", "gzip"); },
      [] { return plain().add("Content-Range", "bytes 0-4999/5000"); },
      [] { return plain().add("Cache-Control", "max-age=5, No-Transform"); },
      [] { return plain().add("Cache-Control", "private").add("Cache-Control", "no-transform"); },
      [] { return plain().add("Repr-Digest", "sha-256=:AA==:"); },
      [] { return plain().add("Content-Digest", "sha-256=:AA==:"); },
      [] { return Response(206, text); },
      [] { return Response(204, text); },
      [] { return Response(205, text); },
      [] { return Response(200); },
      [] { return Response(200, ""); },
      [] {
        return Response(std::make_unique<FakeBody>(std::vector<std::string>{"short"}), "text/plain",
                        5);
      },
  };
  for (std::size_t i = 0; i < makes.size(); ++i) {
    Response expected = makes[i]();
    Response response = response_with(makes[i], all);
    EXPECT_EQ(tests::lines_of(response), tests::lines_of(expected)) << i;
    EXPECT_EQ(response.size(), expected.size()) << i;
    EXPECT_EQ(bytes_of(response), bytes_of(expected)) << i;
  }
}

TEST(Compression, TakesEveryStatusWithAWholeBody) {
  for (const int status : {200, 201, 404, 500}) {
    Passage passage(compression());
    passage.handler = [status](Request&) { return Response::json(text, status); };
    Response response = passage.get(all);
    EXPECT_EQ(find(response, "Content-Encoding"), "zstd") << status;
    EXPECT_EQ(decode_body("zstd", bytes_of(response)), text) << status;
  }
}

TEST(Compression, HasALeastSize) {
  Passage passage(compression({.bytes_min = 10}));
  passage.handler = [](Request&) { return Response::text("0123456789"); };
  EXPECT_EQ(find(passage.get(all), "Content-Encoding"), "zstd");
  passage.handler = [](Request&) { return Response::text("012345678"); };
  EXPECT_EQ(find(passage.get(all), "Content-Encoding"), "-");
  Passage any(compression({.bytes_min = 0}));
  any.handler = [](Request&) { return Response::text(""); };
  EXPECT_EQ(find(any.get(all), "Content-Encoding"), "-");
}

TEST(Compression, MergesVary) {
  const std::vector<std::pair<FieldRows, std::string>> rows = {
      {{}, "Accept-Encoding"},
      {{{"Vary", "Origin"}}, "Origin, Accept-Encoding"},
      {{{"vary", "Origin"}, {"VARY", "Accept"}}, "Origin, Accept, Accept-Encoding"},
      {{{"Vary", "Origin, accept-encoding"}}, "Origin, accept-encoding"},
      {{{"Vary", "*"}}, "*"},
      {{{"Vary", "Accept-Encodings"}}, "Accept-Encodings, Accept-Encoding"},
  };
  for (const auto& [fields, vary] : rows) {
    Passage passage(compression());
    passage.handler = [&fields](Request&) {
      Response response = plain();
      for (const auto& [name, value] : fields) response.add(name, value);
      return response;
    };
    for (const FieldRows& asked : {all, FieldRows{}}) {
      const Response response = passage.get(asked);
      EXPECT_EQ(find(response, "Vary"), vary);
      EXPECT_EQ(std::ranges::count_if(
                    response.fields(),
                    [](const auto& line) { return http::equals_ignoring_case(line.name, "vary"); }),
                1)
          << vary;
    }
  }
}

TEST(Compression, WeakensTheTagOfWhatItEncodes) {
  const auto tagged = [] { return plain().add("ETag", "\"a\"").add("Accept-Ranges", "bytes"); };
  const Response encoded = response_with(tagged, all);
  EXPECT_EQ(find(encoded, "ETag"), "W/\"a\"");
  EXPECT_EQ(find(encoded, "Accept-Ranges"), "-");
  const Response same = response_with(tagged, {});
  EXPECT_EQ(find(same, "ETag"), "\"a\"");
  EXPECT_EQ(find(same, "Accept-Ranges"), "bytes");
  const auto weak = [] { return plain().add("ETag", "W/\"a\""); };
  EXPECT_EQ(find(response_with(weak, all), "ETag"), "W/\"a\"");
}

TEST(Compression, Gives304TheTagAndVaryOf200) {
  const auto tagged = [] { return Response(304).add("ETag", "\"a\""); };
  EXPECT_EQ(tests::lines_of(response_with(tagged, all)),
            (std::vector<std::string>{"Vary: Accept-Encoding", "ETag: W/\"a\""}));
  EXPECT_EQ(tests::lines_of(response_with(tagged, {})),
            (std::vector<std::string>{"ETag: \"a\"", "Vary: Accept-Encoding"}));
  // The handler negotiates itself.
  const auto negotiated = [] {
    return Response(304).add("ETag", "\"a-br\"").add("Vary", "Accept-Encoding");
  };
  EXPECT_EQ(find(response_with(negotiated, all), "ETag"), "\"a-br\"");
}

TEST(Compression, GivesHeadTheFieldsOfGet) {
  const auto make = [] { return plain().add("ETag", "\"a\""); };
  const Response get = response_with(make, all);
  const Response head = response_with(make, all, HEAD);
  EXPECT_EQ(tests::lines_of(head), tests::lines_of(get));
  EXPECT_EQ(find(head, "Content-Encoding"), "zstd");
  EXPECT_EQ(head.size(), std::nullopt) << "Content-Length would be that of GET";
}

TEST(Compression, EncodesLongStringsInSteps) {
  static const std::string longer = words(1'000'000);
  for (const std::string& coding : coding_names) {
    Response response =
        response_with([] { return Response::html(longer); }, {{"accept-encoding", coding}});
    EXPECT_EQ(find(response, "Content-Encoding"), coding);
    EXPECT_TRUE(std::holds_alternative<Response::Streamed>(response.body()));
    EXPECT_TRUE(decode_body(coding, bytes_of(response)) == longer) << coding;
  }
}

// --- sources ------------------------------------------------------------------------------------

class TrailingBody final : public BodySource {
 public:
  Task<Result<std::string_view>> read() override {
    co_return std::exchange(ended_, true) ? "" : std::string_view(text);
  }
  [[nodiscard]] std::span<const Field> trailers() const noexcept override { return trailers_; }

 private:
  const std::array<Field, 1> trailers_ = {Field{"x-sum", "5"}};
  bool ended_ = false;
};

std::vector<std::string> pieces_of_text() {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += 100) pieces.push_back(text.substr(at, 100));
  return pieces;
}

TEST(CompressionOfSources, FlushesEachPieceIfThereIsNoSize) {
  for (const Coding coding : content::codings) {
    Response response = response_with(
        [] { return Response(std::make_unique<FakeBody>(pieces_of_text()), "text/plain"); },
        {{"accept-encoding", std::string(content::coding_name(coding))}});
    BodySource& source = *std::get<Response::Streamed>(response.body()).source;
    std::string encoded;
    for (std::size_t read = 100; read <= text.size(); read += 100) {
      encoded += tests::run_now(source.read()).value();
      const tests::Decoded decoded = tests::decode(coding, encoded);
      ASSERT_EQ(decoded.text, text.substr(0, read));
      ASSERT_FALSE(decoded.ended);
    }
    encoded += bytes_of(response);
    EXPECT_TRUE(tests::decode(coding, encoded).ended);
  }
}

TEST(CompressionOfSources, FlushesNothingIfThereIsASize) {
  const auto sized = [] {
    return Response(std::make_unique<FakeBody>(pieces_of_text()), "text/plain", text.size());
  };
  const auto flushed = [] {
    return Response(std::make_unique<FakeBody>(pieces_of_text()), "text/plain");
  };
  for (const std::string& coding : coding_names) {
    Response response = response_with(sized, {{"accept-encoding", coding}});
    EXPECT_EQ(response.size(), std::nullopt);
    const std::string encoded = bytes_of(response);
    EXPECT_EQ(decode_body(coding, encoded), text);
    Response other = response_with(flushed, {{"accept-encoding", coding}});
    EXPECT_LT(encoded.size(), bytes_of(other).size()) << coding;
  }
}

TEST(CompressionOfSources, PassesErrorsOn) {
  Passage passage(compression());
  passage.handler = [](Request&) {
    return Response(
        std::make_unique<FakeBody>(std::vector<std::string>{text}, Error{EIO, "the disk"}),
        "text/plain");
  };
  Response response = passage.get(all);
  BodySource& source = *std::get<Response::Streamed>(response.body()).source;
  const std::string encoded(tests::run_now(source.read()).value());
  EXPECT_EQ(tests::decode(Coding::zstd, encoded).text, text);
  const Result<std::string_view> failed = tests::run_now(source.read());
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, EIO);
}

TEST(CompressionOfSources, TakesPiecesOfAnySize) {
  static const std::vector<std::string> pieces = {words(200'000), "x", tests::noise(300'000), "y",
                                                  std::string(2'000'000, 'z')};
  std::string whole;
  for (const std::string& piece : pieces) whole += piece;
  for (const std::string& coding : coding_names) {
    Response response = response_with(
        [] { return Response(std::make_unique<FakeBody>(pieces), "application/json"); },
        {{"accept-encoding", coding}});
    EXPECT_TRUE(decode_body(coding, bytes_of(response)) == whole) << coding;
  }
}

// --- in a server --------------------------------------------------------------------------------

TestRequest asking(std::string coding) {
  return {.target = "/", .fields = {{"Accept-Encoding", std::move(coding)}}};
}

TEST(CompressionInAServer, PassesTrailersOn) {
  Server server({.cleartext = true});
  server.use(compression());
  server.get("/",
             [](Request&) { return Response(std::make_unique<TrailingBody>(), "text/plain"); });
  TestClient client(server);
  const TestResponse response = client.send(asking("br"));
  ASSERT_TRUE(response.complete);
  EXPECT_EQ(decode_body("br", response.body), text);
  ASSERT_EQ(response.trailers.size(), 1U);
  EXPECT_EQ(response.trailers[0].name, "x-sum");
}

class ChannelBody final : public BodySource {
 public:
  explicit ChannelBody(std::shared_ptr<Channel<std::string>> channel)
      : channel_(std::move(channel)) {}
  Task<Result<std::string_view>> read() override {
    Result<std::string> piece = co_await channel_->receive();
    if (!piece && piece.error().code == EPIPE) co_return std::string_view();
    if (!piece) co_return std::unexpected(piece.error());
    piece_ = *std::move(piece);
    co_return std::string_view(piece_);
  }

 private:
  std::shared_ptr<Channel<std::string>> channel_;
  std::string piece_;
};

// A request in gzip for what the test sends through the channel.
struct StreamedResponse {
  std::shared_ptr<Channel<std::string>> channel = std::make_shared<Channel<std::string>>(4);
  Server server{{.cleartext = true}};
  std::optional<TestClient> client;
  TestExchange exchange;

  StreamedResponse() : exchange(open()) { exchange.finish(); }

 private:
  TestExchange open() {
    server.use(compression());
    server.get("/", [channel = channel](Request&) {
      return Response(std::make_unique<ChannelBody>(channel), "text/plain");
    });
    return client.emplace(server).open(asking("gzip"));
  }
};

// What a program has streamed arrives although it goes on to wait.
TEST(CompressionInAServer, SendsEachPieceAtOnce) {
  StreamedResponse streamed;
  TestExchange& exchange = streamed.exchange;
  EXPECT_EQ(exchange.head().field("Content-Encoding"), "gzip");
  std::string encoded;
  for (const std::string piece : {"first ", "second ", "third"}) {
    const std::string before = tests::decode(Coding::gzip, encoded).text;
    ASSERT_TRUE(streamed.channel->try_send(std::string(piece)));
    encoded += exchange.read();
    EXPECT_EQ(tests::decode(Coding::gzip, encoded).text, before + piece);
  }
  streamed.channel->close();
  const TestResponse rest = exchange.rest();
  EXPECT_TRUE(rest.complete);
}

// The client leaves while the source waits.
TEST(CompressionInAServer, EndsASourceThatWaits) {
  StreamedResponse streamed;
  TestExchange& exchange = streamed.exchange;
  EXPECT_EQ(exchange.head().status, 200);
}

// Steps of large bodies are encoded by other threads.
TEST(CompressionInAServer, EncodesLargeBodies) {
  static const std::string longer = words(3'000'000);
  Server server({.cleartext = true});
  server.use(compression());
  server.get("/", [](Request&) { return Response::json(longer); });
  TestClient client(server);
  for (const std::string& coding : coding_names) {
    const TestResponse response = client.send(asking(coding));
    ASSERT_TRUE(response.complete);
    EXPECT_TRUE(decode_body(coding, response.body) == longer) << coding;
  }
}

}  // namespace compression_test
}  // namespace h2server
