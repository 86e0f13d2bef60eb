#include "http/h2/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace h2server::http::h2 {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Tells the time and lends buffers; does no I/O.
class FakeEngine final : public io::Engine {
 public:
  bool start(io::Op&) override { return false; }
  void cancel(io::Op&) override {}
  void cancel_all() override {}
  void run() override {}
  void stop() noexcept override {}
  void wake() noexcept override {}
  io::Lease borrow() override {
    return {*this, std::make_unique<char[]>(buffer_bytes).release(), buffer_bytes};
  }
  void take_back(char* buffer) noexcept override { std::unique_ptr<char[]> owned(buffer); }
  std::int64_t now_ms() const noexcept override { return 1'000'000; }
  std::int64_t unix_seconds() const noexcept override { return 784111777; }

  static constexpr std::size_t buffer_bytes = 64 * 1024;

 private:
  void forget(io::Socket&) noexcept override {}
};

// Reads come from what the test says has arrived; each write is kept.
class FakeStream final : public net::Stream {
 public:
  explicit FakeStream(FakeEngine& engine) : engine_(engine) {}

  void arrive(std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), engine_.buffer_bytes))) {
      add({std::string(bytes.substr(0, engine_.buffer_bytes)), 0});
    }
  }
  void end() { add({}); }
  void fail(int error) { add({{}, error}); }
  void cancel_read() override {
    if (arrived_.awaited()) fail(ECANCELED);
  }

  net::Read read(std::uint32_t timeout_ms) override { return wait(timeout_ms); }
  Task<Result<void>> write(base::BufferChain& bytes, std::uint32_t) override {
    if (write_error != 0) co_return std::unexpected(Error{write_error, "write"});
    writes.emplace_back();
    for (; !bytes.empty(); bytes.consume(bytes.front().size())) writes.back() += bytes.front();
    co_return {};
  }
  Task<void> finish(std::uint32_t) override {
    finished = true;
    co_return;
  }
  bool bytes_go_to_kernel() const noexcept override { return true; }
  io::Engine& engine() const noexcept override { return engine_; }
  void move_to(io::Engine&) noexcept override {}

  std::vector<std::string> writes;
  int write_error = 0;
  bool finished = false;

 private:
  Task<Result<io::Lease>> wait(std::uint32_t) {
    if (reads_.empty()) co_await arrived_.wait();
    const Read read = reads_.front();
    if (!read.bytes.empty() || read.error != 0) reads_.pop_front();
    if (read.error != 0) co_return std::unexpected(Error{read.error, "read"});
    io::Lease lease = engine_.borrow();
    std::ranges::copy(read.bytes, lease.room().begin());
    lease.set_size(read.bytes.size());
    co_return std::move(lease);
  }

  struct Read {
    std::string bytes;  // empty without an error: the end, for good
    int error = 0;
  };
  void add(Read read) {
    reads_.push_back(std::move(read));
    if (arrived_.awaited()) arrived_.set();
  }

  FakeEngine& engine_;
  std::deque<Read> reads_;
  coro::Event arrived_;
};

// libnghttp2's client: makes requests' bytes and understands those of the answers.
class Client {
 public:
  struct Answer {
    std::string status;
    std::string body;
    bool continued = false;
    bool ended = false;
    std::optional<std::uint32_t> reset;  // its error code
  };

  Client() {
    nghttp2_session_callbacks* set = nullptr;
    nghttp2_session_callbacks_new(&set);
    nghttp2_session_callbacks_set_on_header_callback(set, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(set, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(set, on_frame);
    nghttp2_session_client_new(&session_, set, this);
    nghttp2_session_callbacks_del(set);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { nghttp2_session_del(session_); }

  std::int32_t request(const std::string& method, const std::string& path, const Headers& more = {},
                       std::optional<std::string> body = {}, bool ends = true) {
    Headers headers = {
        {":method", method}, {":scheme", "http"}, {":authority", "a"}, {":path", path}};
    headers.insert(headers.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> lines;
    for (auto& [name, value] : headers) {
      lines.push_back({bytes_of(name), bytes_of(value), name.size(), value.size(), 0});
    }
    const nghttp2_data_provider provider{.source = {}, .read_callback = read_body};
    const std::int32_t id = nghttp2_submit_request(session_, nullptr, lines.data(), lines.size(),
                                                   body ? &provider : nullptr, nullptr);
    if (body) bodies_[id] = {*std::move(body), ends};
    return id;
  }
  void reset(std::int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  void send(std::int32_t id, const std::string& bytes, bool ends) {
    bodies_[id] = {bytes, ends};
    nghttp2_session_resume_data(session_, id);
  }

  std::string bytes() {
    std::string all;
    const std::uint8_t* part = nullptr;
    for (ssize_t size; (size = nghttp2_session_mem_send(session_, &part)) > 0;) {
      all.append(reinterpret_cast<const char*>(part), static_cast<std::size_t>(size));
    }
    return all;
  }
  void receive(std::string_view bytes) {
    EXPECT_EQ(nghttp2_session_mem_recv(
                  session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  std::size_t left(std::int32_t id) { return bodies_[id].bytes.size(); }

  std::map<std::int32_t, Answer> answers;
  int goaways = 0;

 private:
  struct Body {
    std::string bytes;
    bool ends = true;
  };

  static std::uint8_t* bytes_of(const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  }
  static Client& self(void* user) { return *static_cast<Client*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t, const std::uint8_t* value, std::size_t, std::uint8_t,
                       void* user) {
    Answer& answer = self(user).answers[frame->hd.stream_id];
    if (*name != ':') return 0;
    const std::string status(reinterpret_cast<const char*>(value));
    (status == "100" ? answer.continued : answer.ended) = status == "100";
    if (status != "100") answer.status = status;
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                     std::size_t size, void* user) {
    self(user).answers[id].body.append(reinterpret_cast<const char*>(bytes), size);
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Client& me = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      ++me.goaways;
    } else if (frame->hd.type == NGHTTP2_RST_STREAM) {
      me.answers[frame->hd.stream_id].reset = frame->rst_stream.error_code;
    } else if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM && frame->hd.type <= NGHTTP2_HEADERS) {
      me.answers[frame->hd.stream_id].ended = true;
    }
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, std::int32_t id, std::uint8_t* room, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* user) {
    auto& [body, ends] = self(user).bodies_[id];
    if (body.empty() && !ends) return NGHTTP2_ERR_DEFERRED;
    const std::size_t part = std::min(size, body.size());
    std::copy_n(body.data(), part, room);
    body.erase(0, part);
    if (body.empty() && ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Body> bodies_;
};

struct Pieces final : BodySource {
  Pieces(std::vector<std::string> list, int& counter) : pieces(std::move(list)), reads(counter) {}
  Task<Result<std::string_view>> read() override {
    ++reads;
    if (next == pieces.size()) co_return std::string_view();
    if (pieces[next] == "throw") throw std::runtime_error("source");
    if (pieces[next] == "fail") co_return std::unexpected(Error{EIO, "source"});
    co_return std::string_view(pieces[next++]);
  }
  std::vector<std::string> pieces;
  std::size_t next = 0;
  int& reads;
};

class H2Connection : public testing::Test {
 protected:
  H2Connection() {
    add(GET, "/hello", [](Request&) { return Response(200, "hello"); });
    add(GET, "/throw", [](Request&) -> Response { throw std::runtime_error("plain"); });
    add(POST, "/ignore", [](Request&) { return Response(200, "ignored"); });
    add(GET, "/wait", [this](Request&) -> Task<Response> {
      co_await event_.wait();
      co_return Response(200, "waited");
    });
    add(POST, "/echo", [this](Request& request) -> Task<Response> {
      const Result<std::string> body = co_await request.read_all(10'000'000);
      if (!body) errors_.push_back(body.error().code);
      co_return Response(200, body ? *body : "broken");
    });
    add(POST, "/echo_later", [this](Request& request) -> Task<Response> {
      co_await event_.wait();
      const Result<std::string> body = co_await request.read_all(10'000'000);
      co_return Response(200, body ? *body : "broken");
    });
  }
  ~H2Connection() override { EXPECT_EQ(tasks_.running(), 0U); }

  void add(Method method, const char* path, Handler handler) {
    ASSERT_TRUE(router_.add(method, path, std::move(handler)).has_value());
  }
  void add_streamed(std::vector<std::string> pieces, std::optional<std::uint64_t> size = {}) {
    add(GET, "/streamed", [this, pieces, size](Request&) {
      return Response(std::make_unique<Pieces>(pieces, source_reads_), "text/plain", size);
    });
  }
  void open(std::string early = "") {
    connection_.emplace(stream_, service_, transfers_, false);
    tasks_.start(connection_->run(std::move(early), {}));
  }
  bool over() const { return tasks_.running() == 0; }
  // Until neither side has anything more to say.
  void settle() {
    for (;;) {
      const std::string to_server = client_.bytes();
      stream_.arrive(to_server);
      const std::string to_client = read_writes();
      client_.receive(to_client);
      if (to_server.empty() && to_client.empty()) break;
    }
  }
  std::string read_writes() {
    std::string all;
    while (seen_ < stream_.writes.size()) all += stream_.writes[seen_++];
    return all;
  }
  Client::Answer& answer(std::int32_t id) { return client_.answers[id]; }

  FakeEngine engine_;
  FakeStream stream_{engine_};
  Router router_;
  Limits limits_;
  Service service_{router_, limits_};
  base::Pool<Transfer> transfers_;
  coro::Event event_;
  std::vector<int> errors_;  // that handlers were given
  int source_reads_ = 0;
  std::optional<Connection> connection_;
  coro::TaskGroup tasks_;
  Client client_;
  std::size_t seen_ = 0;  // of stream_.writes
};

// --- requests ---------------------------------------------------------------------------------

TEST_F(H2Connection, AnswersWhatCameTogetherInOneWrite) {
  open();
  settle();
  const std::size_t before = stream_.writes.size();
  const std::int32_t first = client_.request("GET", "/hello");
  const std::int32_t second = client_.request("POST", "/echo", {}, "abc");
  const std::int32_t third = client_.request("HEAD", "/hello");
  stream_.arrive(client_.bytes());
  EXPECT_EQ(stream_.writes.size(), before + 1);
  settle();
  EXPECT_EQ(answer(first).body, "hello");
  EXPECT_EQ(answer(second).body, "abc");
  EXPECT_EQ(answer(third).body, "");
  for (const std::int32_t id : {first, second, third}) {
    EXPECT_EQ(answer(id).status, "200");
    EXPECT_TRUE(answer(id).ended);
  }
  stream_.end();
  EXPECT_TRUE(over() && stream_.finished);
}

TEST_F(H2Connection, AnswersRequestsThatComeByteByByte) {
  const std::int32_t first = client_.request("GET", "/hello");
  const std::int32_t second = client_.request("POST", "/echo", {}, "abc");
  const std::string bytes = client_.bytes();
  open(bytes.substr(0, 10));
  for (const char& c : bytes.substr(10)) stream_.arrive({&c, 1});
  settle();
  EXPECT_EQ(answer(first).body, "hello");
  EXPECT_EQ(answer(second).body, "abc");
  stream_.end();
}

TEST_F(H2Connection, AnswersByItselfWhatNoHandlerDoes) {
  testing::internal::CaptureStderr();
  limits_.head_bytes_max = 1000;
  open();
  const std::vector<std::pair<std::int32_t, std::string>> rows = {
      {client_.request("GET", "/nothing"), "404"},
      {client_.request("POST", "/hello", {}, "body"), "405"},
      {client_.request("BREW", "/hello"), "501"},
      {client_.request("GET", "/../etc"), "400"},
      {client_.request("OPTIONS", "*"), "204"},
      {client_.request("GET", "/throw"), "500"},
      {client_.request("GET", "/hello", {{"x", std::string(1000, 'y')}}), "431"},
      {client_.request("GET", "/hello"), "200"},
  };
  settle();
  for (const auto& [id, status] : rows) {
    EXPECT_EQ(answer(id).status, status);
    EXPECT_TRUE(answer(id).ended) << status;
  }
  stream_.end();
  testing::internal::GetCapturedStderr();
}

// --- bodies of requests -----------------------------------------------------------------------

TEST_F(H2Connection, AHandlerThatReadsSlowlyHoldsUpItsClient) {
  open();
  const std::string body(3'000'000, 'x');
  const std::int32_t id = client_.request("POST", "/echo_later", {}, body);
  settle();
  EXPECT_EQ(body.size() - client_.left(id), 1024U * 1024);  // the stream's window
  event_.set();
  settle();
  EXPECT_TRUE(answer(id).body == body);
  stream_.end();
}

TEST_F(H2Connection, AsksForABodyThatIsHeldBack) {
  open();
  const Headers expects = {{"expect", "100-continue"}};
  const std::int32_t id = client_.request("POST", "/echo", expects, "", false);
  const std::int32_t ignored = client_.request("POST", "/ignore", expects, "", false);
  settle();
  EXPECT_TRUE(answer(id).continued);
  EXPECT_FALSE(answer(ignored).continued);
  EXPECT_EQ(answer(ignored).status, "200");
  client_.send(id, "abc", true);
  settle();
  EXPECT_EQ(answer(id).body, "abc");
  stream_.end();
}

TEST_F(H2Connection, EndsAnUploadThatNobodyReads) {
  limits_.drain_bytes_max = 100'000;
  open();
  const std::int32_t large = client_.request("POST", "/ignore", {}, std::string(300'000, 'x'));
  const std::int32_t small = client_.request("POST", "/ignore", {}, std::string(50'000, 'x'));
  settle();
  EXPECT_EQ(answer(large).body + answer(small).body, "ignoredignored");
  EXPECT_EQ(answer(large).reset, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_FALSE(answer(small).reset.has_value());
  stream_.end();
}

// --- ends in the middle -----------------------------------------------------------------------

TEST_F(H2Connection, AResetReachesAHandlerThatReads) {
  open();
  const std::int32_t id = client_.request("POST", "/echo", {}, "abc", false);
  settle();
  client_.reset(id);
  settle();
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  const std::int32_t other = client_.request("GET", "/hello");
  settle();
  EXPECT_EQ(answer(other).body, "hello");
  stream_.end();
}

TEST_F(H2Connection, CountsHandlersThatOutliveTheirStreams) {
  limits_.streams_max = 2;
  std::deque<coro::Event> events;
  add(GET, "/slow", [&](Request&) -> Task<Response> {
    co_await events.emplace_back().wait();
    co_return Response(200, "slow");
  });
  open();
  for (int i = 0; i < 6; ++i) {
    const std::int32_t id = client_.request("GET", "/slow");
    settle();
    const bool refused = answer(id).reset == static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM);
    EXPECT_EQ(refused, i >= 4) << i;
    client_.reset(id);
    settle();
  }
  EXPECT_EQ(events.size(), 4U);
  for (coro::Event& event : events) event.set();
  stream_.end();
}

TEST_F(H2Connection, TheEndReachesEveryHandler) {
  open();
  client_.request("POST", "/echo", {}, "abc", false);
  client_.request("GET", "/wait");
  client_.request("POST", "/echo", {}, "def", false);
  settle();
  stream_.end();
  EXPECT_EQ(errors_, (std::vector<int>{ECONNRESET, ECONNRESET}));
  EXPECT_FALSE(over());  // one of ours is still at work
  event_.set();
  EXPECT_TRUE(over());
}

TEST_F(H2Connection, AFailedWriteReachesEveryHandler) {
  open();
  client_.request("POST", "/echo", {}, "abc", false);
  settle();
  stream_.write_error = EPIPE;
  client_.request("GET", "/hello");
  stream_.arrive(client_.bytes());
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  EXPECT_TRUE(over() && !stream_.finished);
}

// At the end each handler is told; one of them ends another, whose stream is gone already.
TEST_F(H2Connection, AHandlerMayEndAnotherWhenTheConnectionEnds) {
  add(POST, "/ends_another", [this](Request& request) -> Task<Response> {
    const Result<std::string> body = co_await request.read_all(100);
    event_.set();
    co_return Response(200);
  });
  open();
  client_.request("POST", "/echo", {}, "abc", false);
  const std::int32_t waiting = client_.request("GET", "/wait");
  client_.request("POST", "/ends_another", {}, "abc", false);
  settle();
  client_.reset(waiting);
  settle();
  stream_.end();
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  EXPECT_TRUE(over());
}

// --- bodies of responses ----------------------------------------------------------------------

TEST_F(H2Connection, StreamsPieceByPiece) {
  add_streamed({"abc", std::string(200'000, 'x'), "d"});
  open();
  const std::int32_t id = client_.request("GET", "/streamed");
  const std::int32_t head = client_.request("HEAD", "/streamed");
  settle();
  EXPECT_TRUE(answer(id).body == "abc" + std::string(200'000, 'x') + "d");
  EXPECT_TRUE(answer(id).ended);
  EXPECT_TRUE(answer(head).ended);
  EXPECT_EQ(source_reads_, 4);  // HEAD's is not read
  stream_.end();
}

TEST_F(H2Connection, AsksForNoPieceOfAStreamThatIsGone) {
  add_streamed({std::string(200'000, 'x'), "d"});
  open();
  const std::int32_t id = client_.request("GET", "/streamed");
  stream_.arrive(client_.bytes());  // fills the client's window
  EXPECT_EQ(source_reads_, 1);
  client_.reset(id);
  settle();
  EXPECT_EQ(source_reads_, 1);
  stream_.end();
  EXPECT_TRUE(over());
}

TEST_F(H2Connection, AStreamThatGoesWrongIsReset) {
  testing::internal::CaptureStderr();
  const std::vector<std::pair<std::vector<std::string>, std::optional<std::uint64_t>>> rows = {
      {{"abc", "fail"}, {}}, {{"abc", "throw"}, {}}, {{"abc", "de"}, 4}, {{"abc"}, 4}};
  std::size_t row = 0;
  add(GET, "/streamed", [&](Request&) {
    return Response(std::make_unique<Pieces>(rows[row].first, source_reads_), "text/plain",
                    rows[row].second);
  });
  open();
  for (; row < rows.size(); ++row) {
    const std::int32_t id = client_.request("GET", "/streamed");
    const std::int32_t other = client_.request("GET", "/hello");
    settle();
    EXPECT_EQ(answer(id).body, "abc") << row;
    EXPECT_EQ(answer(id).reset, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR)) << row;
    EXPECT_EQ(answer(other).body, "hello");
  }
  stream_.end();
  testing::internal::GetCapturedStderr();
}

FileRef map_file(const std::string& path, std::size_t size) {
  const base::Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::string content(size, 'f');  // written, hence in the page cache: no engine runs here
  EXPECT_EQ(::write(made.get(), content.data(), size), static_cast<ssize_t>(size));
  struct stat now{};
  EXPECT_EQ(::fstat(made.get(), &now), 0);
  auto file = std::make_shared<File>();
  file->version = {now.st_dev, now.st_ino, size, now.st_mtim.tv_sec, now.st_mtim.tv_nsec};
  file->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  file->bytes =
      static_cast<const char*>(::mmap(nullptr, size, PROT_READ, MAP_SHARED, made.get(), 0));
  file->mapped = true;
  file->h2_fields = {{":status", "200"}};
  return file;
}

TEST_F(H2Connection, AFileThatShrinksResetsItsStreamOnly) {
  const std::string path = testing::TempDir() + "h2_connection_test_" + std::to_string(::getpid());
  const FileRef file = map_file(path, 500'000);
  add(GET, "/file", [&](Request&) { return Response(file); });
  open();
  const std::int32_t id = client_.request("GET", "/file");
  const std::int32_t other = client_.request("POST", "/echo", {}, "abc", false);
  stream_.arrive(client_.bytes());  // fills the client's window
  ASSERT_EQ(::truncate(path.c_str(), 100'000), 0);
  settle();
  EXPECT_EQ(answer(id).status, "200");
  EXPECT_LT(answer(id).body.size(), 100'000U);
  EXPECT_EQ(answer(id).reset, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  client_.send(other, "def", true);
  settle();
  EXPECT_EQ(answer(other).body, "abcdef");
  stream_.end();
  ::unlink(path.c_str());
}

// --- draining and silence ---------------------------------------------------------------------

TEST_F(H2Connection, DrainingLetsStreamsEnd) {
  open();
  const std::int32_t id = client_.request("GET", "/wait");
  settle();
  service_.connections.drain();
  settle();
  EXPECT_EQ(client_.goaways, 2);
  EXPECT_FALSE(over());
  event_.set();
  settle();
  EXPECT_EQ(answer(id).body, "waited");
  EXPECT_TRUE(over() && stream_.finished);
}

TEST_F(H2Connection, ServesSoManyRequestsAndNoMore) {
  limits_.requests_per_connection = 2;
  int calls = 0;
  add(GET, "/count", [&calls](Request&) {
    ++calls;
    return Response(200, "counted");
  });
  open();
  const std::int32_t first = client_.request("GET", "/wait");
  settle();
  EXPECT_EQ(client_.goaways, 0);
  const std::int32_t second = client_.request("GET", "/count");
  client_.request("GET", "/count");
  settle();
  EXPECT_EQ(client_.goaways, 1);
  EXPECT_EQ(answer(second).body, "counted");
  EXPECT_FALSE(over()) << "what has begun is finished";
  event_.set();
  settle();
  EXPECT_EQ(answer(first).body, "waited");
  stream_.end();
  EXPECT_TRUE(over());
  EXPECT_EQ(calls, 1);
}

TEST_F(H2Connection, CountsOpenStreams) {
  base::Counter streams;
  service_.streams = &streams;
  open();
  client_.request("GET", "/wait");
  client_.request("POST", "/echo", {}, "abc", false);
  settle();
  EXPECT_EQ(streams.get(), 2U);
  event_.set();
  settle();
  EXPECT_EQ(streams.get(), 1U);
  stream_.end();
  EXPECT_TRUE(over());
  EXPECT_EQ(streams.get(), 0U);
}

TEST_F(H2Connection, SilenceEndsAConnectionThatWaitsForItsPeerOnly) {
  open();
  const std::int32_t working = client_.request("GET", "/wait");
  client_.request("POST", "/echo", {}, "abc", false);
  settle();
  stream_.fail(ETIMEDOUT);  // the peer waits for us, too
  event_.set();
  settle();
  EXPECT_EQ(answer(working).body, "waited");
  stream_.fail(ETIMEDOUT);
  EXPECT_EQ(errors_, std::vector<int>{ECONNRESET});
  client_.receive(read_writes());
  EXPECT_EQ(client_.goaways, 1);
  stream_.end();
  EXPECT_TRUE(over());
}

}  // namespace
}  // namespace h2server::http::h2
