#include "http/h2/nghttp2_session.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace h2server::http::h2 {
namespace {

using Kind = SessionEvent::Kind;
using Headers = std::vector<std::pair<std::string, std::string>>;

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// libnghttp2's client: makes requests' bytes and understands those of the answers.
class Client {
 public:
  struct Answer {
    std::string fields;  // "name=value;" of the final response
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
                       std::optional<std::string> body = {}) {
    Headers headers = {
        {":method", method}, {":scheme", "http"}, {":authority", "a"}, {":path", path}};
    headers.insert(headers.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> lines;
    for (auto& [name, value] : headers) lines.push_back(line(name, value));
    const bool has_body = body.has_value();
    const nghttp2_data_provider provider{.source = {}, .read_callback = read_body};
    const std::int32_t id = nghttp2_submit_request(session_, nullptr, lines.data(), lines.size(),
                                                   has_body ? &provider : nullptr, nullptr);
    if (has_body) bodies_[id] = *std::move(body);
    return id;
  }
  static nghttp2_nv line(const std::string& name, const std::string& value) {
    const auto bytes = [](const std::string& text) {
      return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }

  // What there is to send.
  std::string bytes() {
    std::string all;
    const std::uint8_t* part = nullptr;
    for (ssize_t size; (size = nghttp2_session_mem_send(session_, &part)) > 0;) {
      all += view(part, static_cast<std::size_t>(size));
    }
    return all;
  }
  void receive(std::string_view bytes) {
    EXPECT_EQ(nghttp2_session_mem_recv(
                  session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  nghttp2_session* get() { return session_; }

  std::map<std::int32_t, Answer> answers;
  std::vector<std::pair<std::int32_t, std::uint32_t>> goaways;  // last stream, error code

 private:
  static Client& self(void* user) { return *static_cast<Client*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    Answer& answer = self(user).answers[frame->hd.stream_id];
    if (view(name, name_size) == ":status" && view(value, value_size) == "100") {
      answer.continued = true;
    } else {
      answer.fields.append(view(name, name_size)).append("=");
      answer.fields.append(view(value, value_size)).append(";");
    }
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                     std::size_t size, void* user) {
    self(user).answers[id].body += view(bytes, size);
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Client& me = self(user);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      me.goaways.emplace_back(frame->goaway.last_stream_id, frame->goaway.error_code);
    } else if (frame->hd.type == NGHTTP2_RST_STREAM) {
      me.answers[frame->hd.stream_id].reset = frame->rst_stream.error_code;
    } else if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM && frame->hd.type <= NGHTTP2_HEADERS) {
      me.answers[frame->hd.stream_id].ended = true;
    }
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, std::int32_t id, std::uint8_t* room, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* user) {
    std::string& body = self(user).bodies_[id];
    const std::size_t part = std::min(size, body.size());
    std::copy_n(body.data(), part, room);
    body.erase(0, part);
    if (body.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(part);
  }

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, std::string> bodies_;
};

class H2Session : public testing::Test {
 protected:
  H2Session() { open(); }
  ~H2Session() override {
    for (Transfer* const transfer : alive_) release(transfer);
  }

  void open() { session_ = make_nghttp2_session(limits_, transfers_).value(); }

  // Gives the server bytes and notes the events as a text.
  bool receive(std::string_view bytes, std::size_t step = SIZE_MAX) {
    while (!bytes.empty()) {
      SessionEvents events;
      const std::string_view piece = bytes.substr(0, step);
      if (!session_->receive(piece, events)) return false;
      for (const SessionEvent& event : events) note(event);
      bytes.remove_prefix(piece.size());
    }
    return true;
  }
  // What the server sends, noting the events.
  std::string take(std::size_t bytes_max = SIZE_MAX) {
    base::BufferChain out;
    SessionEvents events;
    EXPECT_TRUE(session_->send(out, bytes_max, events).has_value());
    for (const SessionEvent& event : events) note(event);
    std::string all;
    for (; !out.empty(); out.consume(out.front().size())) all += out.front();
    return all;
  }
  // Until neither side has anything more to say.
  void settle() {
    for (;;) {
      const std::string to_server = client_.bytes();
      EXPECT_TRUE(receive(to_server));
      const std::string to_client = take();
      client_.receive(to_client);
      if (to_server.empty() && to_client.empty()) break;
    }
  }
  Transfer& transfer(std::int32_t id) {
    for (Transfer* const one : alive_) {
      if (one->id == static_cast<std::uint32_t>(id)) return *one;
    }
    throw std::out_of_range("no such transfer");
  }
  void respond(std::int32_t id, Response response) {
    Transfer& one = transfer(id);
    one.response = std::move(response);
    one.outgoing.open(one.response, false, 8192);
    session_->respond(one, fields_, true);
  }
  void note(const SessionEvent& event) {
    Transfer* const one = event.transfer;
    log_ += std::to_string(one->id);
    switch (event.kind) {
      case Kind::request:
        alive_.insert(one);
        log_ += " " + std::string(one->head.method_name) + " " + std::string(one->head.target);
        break;
      case Kind::data:
        received_[one->id] += event.bytes;
        log_ += " data";
        if (consumes_) session_->consume(*one, event.bytes.size());
        break;
      case Kind::ended:
        log_ += " ended";
        break;
      case Kind::closed:
        log_ += " closed";
        one->closed = true;
        alive_.erase(one);
        release(one);
        break;
      case Kind::body_taken:
        log_ += " taken";
        break;
    }
    log_ += "\n";
  }
  void release(Transfer* one) { base::Pool<Transfer>::Pointer(one, {&transfers_}).reset(); }

  Limits limits_;
  base::Pool<Transfer> transfers_;
  std::unique_ptr<Session> session_;
  Client client_;
  std::set<Transfer*> alive_;
  std::map<std::uint32_t, std::string> received_;  // content by stream
  std::string log_;
  bool consumes_ = true;
  const std::vector<Field> fields_ = {{":status", "200"}, {"x", "y"}};
};

constexpr std::int32_t id_max = 0x7fffffff;

// --- requests ---------------------------------------------------------------------------------

TEST_F(H2Session, TellsItsLimits) {
  settle();
  const auto setting = [&](nghttp2_settings_id id) {
    return nghttp2_session_get_remote_settings(client_.get(), id);
  };
  EXPECT_EQ(setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS), limits_.streams_max);
  EXPECT_EQ(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), 1024U * 1024);
  EXPECT_EQ(setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE), limits_.head_bytes_max);
  EXPECT_EQ(nghttp2_session_get_remote_window_size(client_.get()), 2 * 1024 * 1024);
}

TEST_F(H2Session, ReportsRequestsHoweverTheyArrive) {
  for (const std::size_t step : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    SCOPED_TRACE(step);
    open();
    Client client;
    log_.clear();
    received_.clear();
    client.request("GET", "/a?b", {{"x", "1"}, {"x", "2"}});
    client.request("POST", "/c", {{"content-length", "5"}}, "hello");
    ASSERT_TRUE(receive(client.bytes(), step));
    EXPECT_EQ(received_[3], "hello");
    const Transfer& get = transfer(1);
    EXPECT_EQ(get.head.method, GET);
    EXPECT_EQ(get.head.version, Version::http_2);
    EXPECT_EQ(get.head.authority, "a");
    EXPECT_EQ(get.head.fields.size(), 2U);
    EXPECT_EQ(get.head.fields.find("X"), "1");
    EXPECT_TRUE(log_.starts_with("1 GET /a?b\n1 ended\n3 POST /c\n3 data\n")) << log_;
    EXPECT_TRUE(log_.ends_with("3 ended\n")) << log_;
    for (Transfer* const one : alive_) release(one);
    alive_.clear();
  }
}

TEST_F(H2Session, KeepsTrailersOutOfTheFields) {
  const std::string name = "t";
  const std::int32_t id = client_.request("POST", "/", {{"trailer", name}}, "abc");
  // The body ends with trailers instead of DATA's own flag.
  std::string bytes = client_.bytes();
  bytes[bytes.size() - 3 - 9 + 4] = 0;  // DATA: no END_STREAM
  ASSERT_TRUE(receive(bytes));
  EXPECT_EQ(log_, "1 POST /\n1 data\n");
  // HEADERS of 5 bytes, END_STREAM | END_HEADERS, stream 1: t: u, not indexed.
  ASSERT_TRUE(receive(std::string("\0\0\x05\x01\x05\0\0\0\x01\x00\x01t\x01u", 14)));
  EXPECT_EQ(log_, "1 POST /\n1 data\n1 ended\n");
  EXPECT_EQ(transfer(id).head.fields.size(), 1U);
}

TEST_F(H2Session, SaysWhichHeadsAreTooLarge) {
  limits_.head_bytes_max = 400;
  limits_.fields_max = 4;
  const std::int32_t fits = client_.request("GET", "/", {{"x", std::string(50, 'y')}});
  const std::int32_t large = client_.request("GET", "/", {{"x", std::string(300, 'y')}});
  const std::int32_t many =
      client_.request("GET", "/", {{"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}, {"f", ""}});
  settle();
  EXPECT_FALSE(transfer(fits).head_too_large);
  EXPECT_TRUE(transfer(large).head_too_large);
  EXPECT_TRUE(transfer(many).head_too_large);
  EXPECT_EQ(transfer(many).head.fields.size(), 4U);
}

TEST_F(H2Session, FreesAHeadThatNeverEnds) {
  client_.request("GET", "/", {{"x", std::string(100, 'y')}});
  const std::string bytes = client_.bytes();
  ASSERT_TRUE(receive(bytes.substr(0, bytes.size() - 1)));
  EXPECT_EQ(log_, "");
  session_.reset();  // a leak would be reported
}

// --- responses --------------------------------------------------------------------------------

TEST_F(H2Session, SendsAResponseAndForgetsTheStream) {
  const std::int32_t id = client_.request("GET", "/");
  settle();
  respond(id, Response(200, "hello"));
  settle();
  const Client::Answer& answer = client_.answers[id];
  EXPECT_EQ(answer.fields, ":status=200;x=y;");
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(log_, "1 GET /\n1 ended\n1 closed\n");
  EXPECT_TRUE(alive_.empty());
}

TEST_F(H2Session, SendsLargeBodiesAsTheClientMakesRoom) {
  std::string body(1'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 1000);
  const std::int32_t first = client_.request("GET", "/");
  const std::int32_t second = client_.request("GET", "/");
  settle();
  respond(first, Response(200, body));
  respond(second, Response(200, body));
  EXPECT_LE(take().size(), 65535U + 1000);  // the client's window
  settle();
  EXPECT_EQ(log_, "1 GET /\n1 ended\n3 GET /\n3 ended\n");  // nothing reached the client yet
}

TEST_F(H2Session, SendsAllOfALargeBody) {
  std::string body(1'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 1000);
  const std::int32_t first = client_.request("GET", "/");
  const std::int32_t second = client_.request("GET", "/");
  settle();
  respond(first, Response(200, body));
  respond(second, Response(200, body));
  settle();
  EXPECT_TRUE(client_.answers[first].body == body);
  EXPECT_TRUE(client_.answers[second].body == body);
  EXPECT_TRUE(alive_.empty());
}

TEST_F(H2Session, ProducesNoMoreThanAsked) {
  const std::int32_t id = client_.request("GET", "/");
  settle();
  respond(id, Response(200, std::string(60'000, 'x')));
  std::string all;
  for (std::string part; !(part = take(10'000)).empty(); all += part) {
    EXPECT_LE(part.size(), 10'000U + 9 + 16'384);
  }
  client_.receive(all);
  EXPECT_EQ(client_.answers[id].body.size(), 60'000U);
}

TEST_F(H2Session, SendsWhatIsOfferedPieceByPiece) {
  class Nothing final : public BodySource {
    Task<Result<std::string_view>> read() override { co_return std::string_view(); }
  };
  const std::int32_t id = client_.request("GET", "/");
  settle();
  respond(id, Response(std::make_unique<Nothing>(), "text/plain"));
  settle();
  OutgoingBody& outgoing = transfer(id).outgoing;
  for (const char* const piece : {"abc", "de"}) {
    log_.clear();
    ASSERT_TRUE(outgoing.offer(piece).has_value());
    session_->body_offered(transfer(id));
    settle();
    EXPECT_EQ(log_, "1 taken\n");
  }
  EXPECT_EQ(client_.answers[id].body, "abcde");
  EXPECT_FALSE(client_.answers[id].ended);
  ASSERT_TRUE(outgoing.offer("").has_value());
  session_->body_offered(transfer(id));
  settle();
  EXPECT_TRUE(client_.answers[id].ended);
  EXPECT_EQ(log_, "1 taken\n1 closed\n");
}

TEST_F(H2Session, ContinuesBeforeTheResponse) {
  const std::int32_t id = client_.request("POST", "/", {{"expect", "100-continue"}}, "abc");
  settle();
  session_->inform_continue(transfer(id));
  settle();
  EXPECT_TRUE(client_.answers[id].continued);
  respond(id, Response(200, "hello"));
  settle();
  EXPECT_EQ(client_.answers[id].fields, ":status=200;x=y;");
}

TEST_F(H2Session, ResetsAStream) {
  const std::int32_t id = client_.request("GET", "/");
  const std::int32_t other = client_.request("GET", "/");
  settle();
  session_->reset(transfer(id), ErrorCode::cancel);
  respond(other, Response(200, "hello"));
  settle();
  EXPECT_EQ(client_.answers[id].reset, 8U);
  EXPECT_EQ(client_.answers[other].body, "hello");
  EXPECT_TRUE(alive_.empty());
}

// --- flow control -----------------------------------------------------------------------------

TEST_F(H2Session, BoundsWhatAStreamMayHaveUnread) {
  consumes_ = false;
  const std::int32_t id = client_.request("POST", "/", {}, std::string(1'500'000, 'x'));
  settle();
  EXPECT_EQ(received_[1].size(), 1024U * 1024);
  session_->consume(transfer(id), 1024 * 1024);
  settle();
  EXPECT_EQ(received_[1].size(), 1'500'000U);
}

TEST_F(H2Session, BoundsWhatAConnectionMayHaveUnread) {
  consumes_ = false;
  settle();  // the client knows our windows
  for (int i = 0; i < 3; ++i) client_.request("POST", "/", {}, std::string(1'000'000, 'x'));
  settle();
  EXPECT_EQ(received_[1].size() + received_[3].size() + received_[5].size(), 2U * 1024 * 1024);
  // Content of streams that are gone has to be given back too, or the connection would starve.
  for (const std::int32_t id : {1, 3}) {
    Transfer& gone = transfer(id);
    alive_.erase(&gone);  // this test keeps it beyond `closed`
    nghttp2_submit_rst_stream(client_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    SessionEvents events;
    ASSERT_TRUE(session_->receive(client_.bytes(), events).has_value());
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, Kind::closed);
    gone.closed = true;
    session_->consume(gone, received_[gone.id].size());
    release(&gone);
  }
  settle();
  EXPECT_EQ(received_[5].size(), 1'000'000U);
}

// --- the connection's end ---------------------------------------------------------------------

TEST_F(H2Session, DrainsWithoutLosingWhatIsUnderWay) {
  const std::int32_t first = client_.request("GET", "/first");
  settle();
  session_->drain();
  session_->drain();
  const std::string notice = take();
  const std::int32_t second = client_.request("GET", "/second");  // before the notice arrives
  const std::string crossing = client_.bytes();
  client_.receive(notice);
  EXPECT_TRUE(receive(crossing));
  settle();
  ASSERT_EQ(client_.goaways.size(), 2U);
  EXPECT_EQ(client_.goaways[0].first, id_max);
  EXPECT_EQ(client_.goaways[1].first, second);
  EXPECT_EQ(client_.goaways[1].second, 0U);
  EXPECT_FALSE(session_->finished());
  respond(first, Response(200, "1"));
  respond(second, Response(200, "2"));
  settle();
  EXPECT_EQ(client_.answers[first].body, "1");
  EXPECT_EQ(client_.answers[second].body, "2");
  EXPECT_TRUE(session_->finished());
}

TEST_F(H2Session, EndsAfterAStreamAndTellsWhich) {
  const std::int32_t first = client_.request("GET", "/first");
  const std::int32_t second = client_.request("GET", "/second");
  const std::int32_t third = client_.request("GET", "/third");
  EXPECT_TRUE(receive(client_.bytes()));
  session_->end_after(transfer(second));
  settle();
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0], std::pair(second, 0U));
  const std::int32_t fourth = client_.request("GET", "/fourth");
  respond(first, Response(200, "1"));
  respond(second, Response(200, "2"));
  settle();
  EXPECT_EQ(client_.answers[first].body, "1");
  EXPECT_EQ(client_.answers[second].body, "2");
  EXPECT_FALSE(client_.answers.contains(third));
  EXPECT_FALSE(client_.answers.contains(fourth));
  EXPECT_TRUE(session_->finished());
}

TEST_F(H2Session, Terminates) {
  client_.request("GET", "/");
  settle();
  session_->terminate(ErrorCode::no_error);
  client_.receive(take());
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0], std::pair(1, 0U));
  EXPECT_TRUE(session_->finished());
}

TEST_F(H2Session, RefusesAWrongPreface) {
  EXPECT_FALSE(receive("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"));
}

TEST_F(H2Session, EndsAFloodOfResets) {
  limits_.resets_max = 10;
  limits_.resets_per_s_max = 1;
  open();
  for (int i = 0; i < 30; ++i) {
    const std::int32_t id = client_.request("GET", "/");
    EXPECT_TRUE(receive(client_.bytes()));
    nghttp2_submit_rst_stream(client_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  EXPECT_TRUE(receive(client_.bytes()));
  client_.receive(take());
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0].second, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  EXPECT_TRUE(session_->finished());
}

TEST_F(H2Session, EndsAFloodOfPings) {
  limits_.acks_queued_max = 10;
  open();
  bool good = true;
  for (int i = 0; i < 30; ++i) {
    nghttp2_submit_ping(client_.get(), NGHTTP2_FLAG_NONE, nullptr);
    good = good && receive(client_.bytes());  // whose answers are not read
  }
  EXPECT_FALSE(good);
}

TEST_F(H2Session, DoesNotLetAClientComeBackToAStreamItPassedOver) {
  nghttp2_session_set_next_stream_id(client_.get(), 5);
  client_.request("GET", "/");
  settle();
  // HEADERS of 6 bytes, END_STREAM | END_HEADERS, stream 3: GET http / with authority "a".
  EXPECT_TRUE(receive(std::string("\0\0\x06\x01\x05\0\0\0\x03\x82\x86\x84\x01\x01"
                                  "a",
                                  15)));
  client_.receive(take());
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0].second, static_cast<std::uint32_t>(NGHTTP2_PROTOCOL_ERROR));
}

}  // namespace
}  // namespace h2server::http::h2
