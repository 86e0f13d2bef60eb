#include "content/files/encoded_files.h"

#include <atomic>
#include <latch>

#include "content/decode.h"
#include "content/support.h"
#include "h2server/server.h"
#include "http/file_head.h"
#include "server/client.h"

namespace h2server::content {
namespace encoded_files_test {

using tests::decode_body;
using tests::noise;
using tests::words;
using State = EncodedCopies::State;

const std::string text = words(20'000);
constexpr std::int64_t old_s = 1'000'000'000;

std::string find(const Response& response, std::string_view name) {
  return std::string(response.find(name).value_or("-"));
}

class Encoded : public testing::Test {
 protected:
  Encoded() {
    directory_.write_settled("page.html", text);
    folder_ = *file::Folder::open(
        directory_.path(), {.make_file = make_negotiated_file, .fresh_ms = std::int64_t{1} << 40});
    use({});
  }

  void use(EncodedFilesOptions options) {
    options.budget = &budget_;
    files_.emplace(folder_, options);
  }

  FileRef load(const std::string& path) const { return folder_->find_now(path).file; }

  void set_request(const std::string& accept, std::vector<Field> fields = {}) {
    accept_ = accept;
    asked_ = tests::Asked();
    for (const Field& field : fields) asked_.head.fields.add(field.name, field.value);
    if (accept != "-") asked_.head.fields.add("Accept-Encoding", accept_);
  }

  // `accept` is "-" for a request without the field.
  Response ask(const std::string& path, const std::string& accept, std::vector<Field> fields = {}) {
    set_request(accept, std::move(fields));
    const Request request(asked_.head, asked_.params, nullptr);
    const FileRef file = load(path);
    std::optional<Response> known = files_->known(request, path, file);
    waited_ = !known;
    return known ? *std::move(known) : tests::run_now(files_->find(request, path, file));
  }

  // Returns the coding of the response, whose body must decode to `content`.
  std::string coding_of(const std::string& path, const std::string& accept,
                        std::string_view content = text) {
    Response response = ask(path, accept);
    EXPECT_EQ(response.status(), 200);
    const std::string coding = find(response, "Content-Encoding");
    EXPECT_TRUE(decode_body(coding, body_of(response)) == content) << path << " " << accept;
    return coding;
  }

  static std::string body_of(Response& response) {
    auto* const streamed = std::get_if<Response::Streamed>(&response.body());
    if (streamed == nullptr) return tests::body_of(response);
    std::string body;
    for (;;) {
      const Result<std::string_view> piece = tests::run_now(streamed->source->read());
      if (!piece) return body + "!";
      if (piece->empty()) return body;
      body += *piece;
    }
  }

  tests::TemporaryDirectory directory_;
  CopyBudget budget_{1 << 20};
  std::shared_ptr<const file::Folder> folder_;
  std::optional<EncodedFiles> files_;
  tests::Asked asked_;
  std::string accept_;
  bool waited_ = false;
};

TEST_F(Encoded, ChooseByQuality) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"-", "-"},
      {"gzip, deflate, br, zstd", "zstd"},
      {"gzip, deflate, br", "br"},
      {"gzip", "gzip"},
      {"gzip;q=1, br;q=0.5", "gzip"},
      {"identity;q=0.5, gzip;q=0.4", "-"},
      {"zstd;q=0, *;q=0.1", "br"},
      {"gzip;q=0", "-"},
      {"identity;q=0", "-"},
      {"*;q=0", "-"},
      {"deflate", "-"},
      {"", "-"},
      {"gzip" + std::string(300, ' ') + ",br;q=0.1", "gzip"},  // too long to be remembered
  };
  for (int round = 0; round < 2; ++round) {
    for (const auto& [accept, coding] : rows) {
      EXPECT_EQ(coding_of("page.html", accept), coding) << accept;
      EXPECT_TRUE(round == 0 || !waited_) << accept;
    }
  }
}

TEST_F(Encoded, JoinSeveralLinesOfTheField) {
  EXPECT_EQ(find(ask("page.html", "gzip", {{"accept-encoding", "br"}}), "Content-Encoding"), "br");
  EXPECT_EQ(find(ask("page.html", "gzip;q=0", {{"accept-encoding", "gzip"}}), "Content-Encoding"),
            "gzip");
}

TEST_F(Encoded, HaveHeadsOfTheirOwn) {
  std::vector<std::string> tags;
  for (const std::string accept : {"-", "gzip", "br", "zstd"}) {
    const Response response = ask("page.html", accept);
    EXPECT_EQ(find(response, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(find(response, "Vary"), "Accept-Encoding");
    EXPECT_EQ(find(response, "Last-Modified"), "Sun, 09 Sep 2001 01:46:40 GMT");
    EXPECT_EQ(find(response, "Accept-Ranges"), accept == "-" ? "bytes" : "-");
    ASSERT_NE(response.described_by(), nullptr) << "it has a precomputed head";
    tags.push_back(find(response, "ETag"));
  }
  std::string plain = tags[0];
  plain.pop_back();
  EXPECT_EQ(tags, (std::vector<std::string>{plain + "\"", plain + "-gzip\"", plain + "-br\"",
                                            plain + "-zstd\""}));
}

TEST_F(Encoded, AreNotModifiedEachForItself) {
  for (const std::string accept : {"-", "gzip", "br", "zstd"}) {
    const std::string tag = find(ask("page.html", accept), "ETag");
    for (const std::string other : {"-", "gzip", "br", "zstd"}) {
      const Response response = ask("page.html", other, {{"if-none-match", tag}});
      EXPECT_EQ(response.status(), other == accept ? 304 : 200) << accept << " " << other;
      EXPECT_EQ(find(response, "Vary"), "Accept-Encoding");
      if (other == accept) {
        EXPECT_EQ(find(response, "ETag"), tag);
      }
    }
    EXPECT_EQ(ask("page.html", accept, {{"if-match", "\"other\""}}).status(), 412);
  }
}

TEST_F(Encoded, AnswerRangesFromTheFileItself) {
  const std::string tag = find(ask("page.html", "-"), "ETag");
  Response response = ask("page.html", "gzip", {{"range", "bytes=10-19"}});
  EXPECT_EQ(response.status(), 206);
  EXPECT_EQ(find(response, "Content-Encoding"), "-");
  EXPECT_EQ(find(response, "Vary"), "Accept-Encoding");
  EXPECT_EQ(body_of(response), text.substr(10, 10));
  const std::string encoded_tag = find(ask("page.html", "gzip"), "ETag");
  // A client that has a part of the encoded content gets all of the other.
  response = ask("page.html", "gzip", {{"range", "bytes=10-19"}, {"if-range", encoded_tag}});
  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(find(response, "ETag"), tag);
}

TEST_F(Encoded, AreOnlyOfCompressibleTypes) {
  directory_.write("page.png", text);
  directory_.write("page.png.gz", "sibling");
  const Response response = ask("page.png", "gzip");
  EXPECT_EQ(find(response, "Content-Encoding"), "-");
  EXPECT_EQ(find(response, "Vary"), "-");
  EXPECT_EQ(load("page.png")->extension(), nullptr);
}

TEST_F(Encoded, AreNotSmallNorOfWhatDoesNotShrink) {
  directory_.write("small.html", words(1023));
  directory_.write("least.html", words(1024));
  directory_.write("noise.html", noise(5000));
  EXPECT_EQ(find(ask("small.html", "gzip"), "Content-Encoding"), "-");
  EXPECT_EQ(find(ask("small.html", "gzip"), "Vary"), "Accept-Encoding");
  EXPECT_EQ(find(ask("least.html", "gzip"), "Content-Encoding"), "gzip");
  EXPECT_EQ(coding_of("noise.html", "gzip", noise(5000)), "-");
  EXPECT_TRUE(waited_);
  EXPECT_EQ(coding_of("noise.html", "gzip, br, zstd", noise(5000)), "-");
  const auto* const copies = EncodedCopies::of(*load("noise.html"));
  for (const Coding coding : codings) EXPECT_EQ(copies->state(coding), State::refused);
  ask("noise.html", "br");
  EXPECT_FALSE(find(ask("noise.html", "br"), "Vary").empty());
}

TEST_F(Encoded, CanBeSwitchedOff) {
  use({.copies = false});
  EXPECT_EQ(coding_of("page.html", "gzip"), "-");
  directory_.write("page.html.gz", compress("sibling", Coding::gzip));
  use({.siblings = false});
  EXPECT_EQ(coding_of("page.html", "gzip"), "gzip");
}

// --- siblings -----------------------------------------------------------------------------------

class Siblings : public Encoded {
 protected:
  void write_sibling(Coding coding, std::int64_t modified_s = old_s) {
    directory_.write_settled("page.html" + std::string(coding_suffix(coding)),
                             compress(text, coding), modified_s);
  }
};

TEST_F(Siblings, AreSentByQuality) {
  use({.copies = false});
  write_sibling(Coding::gzip);
  write_sibling(Coding::br);
  EXPECT_EQ(coding_of("page.html", "gzip, deflate, br, zstd"), "br");
  EXPECT_EQ(coding_of("page.html", "gzip, br;q=0.5"), "gzip");
  EXPECT_EQ(coding_of("page.html", "zstd"), "-");
  EXPECT_EQ(coding_of("page.html", "zstd, gzip;q=0.1"), "gzip");
  EXPECT_EQ(coding_of("page.html", "identity, gzip;q=0.1"), "-");
  EXPECT_EQ(coding_of("page.html", "-"), "-");
}

TEST_F(Siblings, HaveTheTypeOfTheFile) {
  write_sibling(Coding::gzip);
  const Response response = ask("page.html", "gzip");
  EXPECT_EQ(find(response, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(find(response, "Vary"), "Accept-Encoding");
  EXPECT_NE(find(response, "ETag"), std::string(load("page.html")->etag()));
  EXPECT_EQ(ask("page.html", "gzip", {{"if-none-match", find(response, "ETag")}}).status(), 304);
  // Under its own name it is a file like others.
  const Response own = ask("page.html.gz", "gzip");
  EXPECT_EQ(find(own, "Content-Type"), "application/gzip");
  EXPECT_EQ(find(own, "Content-Encoding"), "-");
}

TEST_F(Siblings, ComeBeforeCopiesAmongEquals) {
  write_sibling(Coding::gzip);
  EXPECT_EQ(coding_of("page.html", "gzip, br, zstd"), "gzip");
  EXPECT_EQ(budget_.used(), 0U);
  EXPECT_EQ(coding_of("page.html", "gzip;q=0.5, br"), "br") << "the client prefers it";
}

TEST_F(Siblings, MustNotBeOlderThanTheFile) {
  use({.copies = false});
  write_sibling(Coding::gzip, old_s - 1);
  write_sibling(Coding::br, old_s);
  write_sibling(Coding::zstd, old_s + 1);
  EXPECT_EQ(coding_of("page.html", "gzip"), "-");
  EXPECT_EQ(coding_of("page.html", "br"), "br");
  EXPECT_EQ(coding_of("page.html", "zstd"), "zstd");
}

TEST_F(Siblings, MayAppearAndGo) {
  folder_ =
      *file::Folder::open(directory_.path(), {.make_file = make_negotiated_file, .fresh_ms = 0});
  use({.copies = false});
  EXPECT_EQ(coding_of("page.html", "gzip"), "-");
  write_sibling(Coding::gzip);
  EXPECT_EQ(coding_of("page.html", "gzip"), "gzip");
  std::filesystem::remove(directory_.path_of("page.html.gz"));
  EXPECT_EQ(coding_of("page.html", "gzip"), "-");
  std::filesystem::create_directory(directory_.path_of("page.html.gz"));
  EXPECT_EQ(coding_of("page.html", "gzip"), "-");
}

TEST_F(Siblings, NeedNoSmallestSize) {
  directory_.write_settled("small.html", "small");
  directory_.write_settled("small.html.br", compress("small", Coding::br));
  EXPECT_EQ(coding_of("small.html", "br", "small"), "br");
}

// --- copies -------------------------------------------------------------------------------------

TEST_F(Encoded, AreMadeOnceAndCounted) {
  EXPECT_EQ(coding_of("page.html", "gzip"), "gzip");
  EXPECT_TRUE(waited_);
  const std::size_t used = budget_.used();
  EXPECT_EQ(used, compress(text, Coding::gzip).size());
  EXPECT_EQ(coding_of("page.html", "gzip"), "gzip");
  EXPECT_FALSE(waited_);
  EXPECT_EQ(budget_.used(), used);
  EXPECT_EQ(coding_of("page.html", "br"), "br");
  EXPECT_GT(budget_.used(), used);
}

TEST_F(Encoded, GoWithTheirFile) {
  std::optional<Response> response = ask("page.html", "gzip");
  const FileRef copy = std::get<Response::FilePart>(response->body()).file;
  EXPECT_GT(budget_.used(), 0U);
  response.reset();
  files_.reset();
  folder_.reset();  // and its entries in the cache
  EXPECT_GT(budget_.used(), 0U) << "a response still uses it";
  EXPECT_EQ(tests::decode(Coding::gzip, {copy->content().bytes(), copy->size()}).text, text);
  const_cast<FileRef&>(copy).reset();
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(Encoded, StayWithinTheBudget) {
  for (int i = 0; i < 100; ++i) directory_.write(std::to_string(i) + ".html", text);
  int encoded = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string coding = coding_of(std::to_string(i) + ".html", "br");
    encoded += coding == "br" ? 1 : 0;
    EXPECT_TRUE(coding == "br" || !waited_) << "a full budget costs no wait";
    EXPECT_LE(budget_.used(), 1U << 20);
  }
  EXPECT_GT(encoded, 50);
  EXPECT_EQ(coding_of("0.html", "br"), "br");
  CopyBudget none(1000);
  EncodedFilesOptions options;
  options.budget = &none;
  files_.emplace(folder_, options);
  EXPECT_EQ(coding_of("page.html", "gzip"), "-");
}

TEST(CopyBudgets, GiveNoMoreThanTheyHave) {
  CopyBudget budget(100);
  EXPECT_TRUE(budget.take(60));
  EXPECT_FALSE(budget.take(41));
  EXPECT_FALSE(budget.has_room(41));
  EXPECT_TRUE(budget.has_room(40));
  EXPECT_TRUE(budget.take(40));
  EXPECT_FALSE(budget.take(std::numeric_limits<std::size_t>::max()));
  budget.give_back(100);
  EXPECT_EQ(budget.used(), 0U);
}

// Law 8: the mapping of a file that shrinks must not be read.
TEST_F(Encoded, AreNotMadeOfAFileThatShrinks) {
  directory_.write("large.html", words(200'000));
  const FileRef file = load("large.html");
  ASSERT_TRUE(file->content().mapped());
  directory_.write("large.html", "short");
  set_request("gzip");
  const Request request(asked_.head, asked_.params, nullptr);
  EXPECT_FALSE(files_->known(request, "large.html", file).has_value());
  const Response response = tests::run_now(files_->find(request, "large.html", file));
  EXPECT_EQ(find(response, "Content-Encoding"), "-");
  EXPECT_EQ(EncodedCopies::of(*file)->state(Coding::gzip), State::refused);
  EXPECT_EQ(budget_.used(), 0U);
}

// --- streamed -----------------------------------------------------------------------------------

TEST_F(Encoded, AreStreamedIfTheFileIsLarge) {
  directory_.write("large.html", words(200'000));
  use({.copy_bytes_max = 199'999});
  for (const std::string coding : {"gzip", "br", "zstd"}) {
    EXPECT_EQ(coding_of("large.html", coding, words(200'000)), coding);
    EXPECT_EQ(coding_of("large.html", coding, words(200'000)), coding);
    EXPECT_FALSE(waited_);
    Response response = ask("large.html", coding);
    EXPECT_EQ(response.size(), std::nullopt);
    EXPECT_EQ(find(response, "Vary"), "Accept-Encoding");
    EXPECT_EQ(find(response, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(find(response, "Accept-Ranges"), "-");
    const std::string tag = find(response, "ETag");
    EXPECT_TRUE(tag.ends_with("-" + coding + "\"")) << tag;
    response = ask("large.html", coding, {{"if-none-match", tag}});
    EXPECT_EQ(response.status(), 304);
    EXPECT_EQ(find(response, "ETag"), tag);
  }
  EXPECT_EQ(budget_.used(), 0U);
  use({.copy_bytes_max = 10'000, .streamed_bytes_max = 199'999});
  EXPECT_EQ(find(ask("large.html", "gzip"), "Content-Encoding"), "-");
}

TEST_F(Encoded, FailIfAFileShrinksWhileItIsStreamed) {
  directory_.write("large.html", words(500'000));
  use({.copy_bytes_max = 10'000});
  Response response = ask("large.html", "gzip");
  BodySource& source = *std::get<Response::Streamed>(response.body()).source;
  ASSERT_TRUE(tests::run_now(source.read()).has_value());
  directory_.write("large.html", "short");
  EXPECT_TRUE(body_of(response).ends_with("!"));
}

// --- in a server --------------------------------------------------------------------------------

std::atomic<int> made{0};
FileRef make_and_count(std::unique_ptr<const file::Content> content, std::string_view path,
                       std::int64_t now_s) {
  made.fetch_add(1);
  return make_negotiated_file(std::move(content), path, now_s);
}

class EncodedInAServer : public testing::TestWithParam<ServerScheme> {
 protected:
  // Serves the files by EncodedFiles as static_files does.
  Handler handler() {
    const auto folder = *file::Folder::open(
        directory_.path(), {.make_file = make_and_count, .fresh_ms = std::int64_t{1} << 40});
    EncodedFilesOptions options;
    options.budget = &budget_;
    const auto files = std::make_shared<const EncodedFiles>(folder, options);
    return {[folder, files](Request& request) -> std::optional<Response> {
              const auto found = folder->known(request.param("path"));
              if (!found) return std::nullopt;
              return files->known(request, request.param("path"), found->file);
            },
            [folder, files](Request& request) { return serve(*folder, *files, request); }};
  }

  static Task<Response> serve(const file::Folder& folder, const EncodedFiles& files,
                              Request& request) {
    std::string path(request.param("path"));
    const file::Lookup found = co_await folder.find(path);
    Response response = co_await files.find(request, std::move(path), found.file);
    co_return std::move(response);
  }

  tests::TemporaryDirectory directory_;
  CopyBudget budget_{64 << 20};
};

// Each copy takes its part of the budget once, whoever asks for it.
TEST_P(EncodedInAServer, AreMadeOnceForAllThatAsk) {
  constexpr int clients = 8;
  const std::string large = words(1'500'000);
  directory_.write_settled("large.html", large);
  ServerOptions options = tests::cleartext();
  options.scheme = GetParam();
  options.threads = 4;
  Server server(options);
  server.get("/{path...}", handler());
  ASSERT_TRUE(server.start());
  std::size_t used = 0;
  for (const Coding coding : codings) {
    const std::string name(coding_name(coding));
    std::latch together(clients);
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&] {
        tests::Client client(tests::port_of(server));
        together.arrive_and_wait();
        client.send("GET /large.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + name + "\r\n\r\n");
        const tests::Reply reply = client.receive();
        EXPECT_TRUE(reply.says("Content-Encoding: " + name)) << reply.head;
        EXPECT_TRUE(decode_body(name, reply.body) == large);
      });
    }
    for (std::thread& thread : threads) thread.join();
    used += compress(large, coding).size();
    EXPECT_EQ(budget_.used(), used) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, EncodedInAServer,
                         testing::Values(ServerScheme::reuseport, ServerScheme::thread_pool),
                         [](const auto& one) {
                           return one.param == ServerScheme::reuseport ? "event_loops" : "threads";
                         });

}  // namespace encoded_files_test
}  // namespace h2server::content
