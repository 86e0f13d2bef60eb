// Tests what both sessions have in common.
#include "http/h2/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/h2/frames.h"
#include "http/h2/nghttp2_client.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace session_test {

class H2Session : public testing::TestWithParam<Http2Implementation> {
 protected:
  void settle() { host_.settle(client_); }

  SessionHost host_{GetParam()};
  Nghttp2Client client_;
};

INSTANTIATE_TEST_SUITE_P(, H2Session,
                         testing::Values(Http2Implementation::native, Http2Implementation::nghttp2),
                         name_of_parameter);

constexpr std::int32_t id_max = 0x7fffffff;

// --- requests ---------------------------------------------------------------------------------

TEST_P(H2Session, TellsItsLimits) {
  settle();
  const auto setting = [&](nghttp2_settings_id id) {
    return nghttp2_session_get_remote_settings(client_.get(), id);
  };
  EXPECT_EQ(setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS), host_.limits.streams_max);
  EXPECT_EQ(setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE), 1024U * 1024);
  EXPECT_EQ(setting(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE), host_.limits.head_bytes_max);
  EXPECT_EQ(nghttp2_session_get_remote_window_size(client_.get()), 2 * 1024 * 1024);
}

TEST_P(H2Session, ReportsRequestsHoweverTheyArrive) {
  for (const std::size_t step : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    SCOPED_TRACE(step);
    host_.open();
    Nghttp2Client client;
    client.request("GET", "/a?b", {{"x", "1"}, {"x", "2"}});
    client.request("POST", "/c", {{"content-length", "5"}}, "hello");
    ASSERT_TRUE(host_.receive(client.bytes(), step));
    EXPECT_EQ(host_.received[3], "hello");
    const H2Exchange& get = host_.exchange(1);
    EXPECT_EQ(get.head.method, GET);
    EXPECT_EQ(get.head.version, Version::http_2);
    EXPECT_EQ(get.head.authority, "a");
    EXPECT_EQ(get.head.fields.size(), 2U);
    EXPECT_EQ(get.head.fields.find("X"), "1");
    EXPECT_TRUE(host_.log.starts_with("1 GET /a?b\n3 POST /c\n3 data\n")) << host_.log;
    EXPECT_TRUE(host_.log.ends_with("3 ended\n")) << host_.log;
  }
}

TEST_P(H2Session, KeepsTrailersOutOfTheFields) {
  const std::string name = "t";
  const std::int32_t id = client_.request("POST", "/", {{"trailer", name}}, "abc");
  // The body ends with trailers, not with END_STREAM on DATA.
  std::string bytes = client_.bytes();
  bytes[bytes.size() - 3 - 9 + 4] = 0;  // DATA: no END_STREAM
  ASSERT_TRUE(host_.receive(bytes));
  EXPECT_EQ(host_.log, "1 POST /\n1 data\n");
  // HEADERS of 5 bytes, END_STREAM | END_HEADERS, stream 1: t: u, not indexed.
  ASSERT_TRUE(host_.receive(std::string("\0\0\x05\x01\x05\0\0\0\x01\x00\x01t\x01u", 14)));
  EXPECT_EQ(host_.log, "1 POST /\n1 data\n1 ended\n");
  EXPECT_EQ(host_.exchange(id).head.fields.size(), 1U);
}

TEST_P(H2Session, SaysWhichHeadsAreTooLarge) {
  host_.limits.head_bytes_max = 400;
  host_.limits.fields_max = 4;
  const std::int32_t fits = client_.request("GET", "/", {{"x", std::string(50, 'y')}});
  const std::int32_t large = client_.request("GET", "/", {{"x", std::string(300, 'y')}});
  const std::int32_t many =
      client_.request("GET", "/", {{"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}, {"f", ""}});
  settle();
  EXPECT_FALSE(host_.exchange(fits).session.head_too_large);
  EXPECT_TRUE(host_.exchange(large).session.head_too_large);
  EXPECT_TRUE(host_.exchange(many).session.head_too_large);
  EXPECT_EQ(host_.exchange(many).head.fields.size(), 4U);
}

// RFC 9113, 8.2.3.
TEST_P(H2Session, ThePiecesOfACookieAreOneField) {
  host_.limits.fields_max = 4;
  Headers fields(90, {"cookie", "a=1"});
  for (const char* const name : {"b", "c", "d"}) fields.emplace_back(name, "");
  const std::int32_t fits = client_.request("GET", "/", fields);
  fields.emplace_back("e", "");
  const std::int32_t many = client_.request("GET", "/", fields);
  const std::int32_t behind = client_.request(
      "GET", "/", {{"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}, {"cookie", "a"}, {"cookie", "b"}});
  settle();
  EXPECT_FALSE(host_.exchange(fits).session.head_too_large);
  EXPECT_EQ(host_.exchange(fits).head.fields.size(), 93U);
  EXPECT_TRUE(host_.exchange(many).session.head_too_large);
  EXPECT_TRUE(host_.exchange(behind).session.head_too_large);
  EXPECT_EQ(host_.exchange(behind).head.fields.size(), 4U) << "none of a cookie that does not fit";
}

TEST_P(H2Session, FreesAHeadThatNeverEnds) {
  client_.request("GET", "/", {{"x", std::string(100, 'y')}});
  const std::string bytes = client_.bytes();
  ASSERT_TRUE(host_.receive(bytes.substr(0, bytes.size() - 1)));
  EXPECT_EQ(host_.log, "");
  host_.close();  // a sanitizer reports a leak
}

// --- responses --------------------------------------------------------------------------------

TEST_P(H2Session, SendsAllOfALargeBody) {
  std::string body(1'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 1000);
  const std::int32_t first = client_.request("GET", "/");
  const std::int32_t second = client_.request("GET", "/");
  settle();
  host_.respond(first, Response(200, body));
  host_.respond(second, Response(200, body));
  settle();
  EXPECT_TRUE(client_.answers[first].body == body);
  EXPECT_TRUE(client_.answers[second].body == body);
  EXPECT_TRUE(host_.alive.empty());
}

// The client takes frames of 16 KiB (RFC 9113, 6.5.2), however large a body may leave with its
// head.
TEST_P(H2Session, ABodyThatLeavesWithItsHeadFitsIntoAFrame) {
  host_.limits.inline_file_bytes_max = 64UZ * 1024;
  host_.open();
  for (const std::size_t size : {16'384UZ, 16'385UZ, 40'000UZ}) {
    const std::int32_t id = client_.request("GET", "/");
    settle();
    host_.respond(id, Response(200, std::string(size, 'x')));
    settle();
    EXPECT_EQ(client_.answers[id].body.size(), size);
    EXPECT_TRUE(client_.answers[id].ended) << size;
  }
}

TEST_P(H2Session, ProducesNoMoreThanAsked) {
  const std::int32_t id = client_.request("GET", "/");
  settle();
  host_.respond(id, Response(200, std::string(60'000, 'x')));
  std::string all;
  for (std::string part; !(part = host_.take(10'000)).empty(); all += part) {
    EXPECT_LE(part.size(), 10'000U + 9 + 16'384);
  }
  client_.receive(all);
  EXPECT_EQ(client_.answers[id].body.size(), 60'000U);
}

TEST_P(H2Session, ResetsAStream) {
  const std::int32_t id = client_.request("GET", "/");
  const std::int32_t other = client_.request("GET", "/");
  settle();
  host_.session->reset(host_.exchange(id), ErrorCode::cancel);
  host_.respond(other, Response(200, "hello"));
  settle();
  EXPECT_EQ(client_.answers[id].reset, 8U);
  EXPECT_EQ(client_.answers[other].body, "hello");
  EXPECT_TRUE(host_.alive.empty());
}

// --- flow control -----------------------------------------------------------------------------

TEST_P(H2Session, BoundsWhatAConnectionMayHaveUnread) {
  host_.consumes = false;
  settle();  // the client knows the server's windows
  for (int i = 0; i < 3; ++i) client_.request("POST", "/", {}, std::string(1'000'000, 'x'));
  settle();
  EXPECT_EQ(host_.received[1].size() + host_.received[3].size() + host_.received[5].size(),
            2U * 1024 * 1024);
  // Content of closed streams must be returned too, or the connection's window stays closed.
  host_.keeps = true;
  for (const std::int32_t id : {1, 3}) {
    client_.reset(id);
    host_.log.clear();
    ASSERT_TRUE(host_.receive(client_.bytes()));
    EXPECT_EQ(host_.log, std::to_string(id) + " closed\n");
    H2Exchange& gone = host_.exchange(static_cast<std::uint32_t>(id));
    host_.session->consume(gone, host_.received[gone.id].size(), Consumed::dropped);
  }
  settle();
  EXPECT_EQ(host_.received[5].size(), 1'000'000U);
}

// --- the connection's end ---------------------------------------------------------------------

TEST_P(H2Session, DrainsWithoutLosingWhatIsUnderWay) {
  const std::int32_t first = client_.request("GET", "/first");
  settle();
  host_.session->drain();
  host_.session->drain();
  const std::string notice = host_.take();
  const std::int32_t second = client_.request("GET", "/second");  // before the notice arrives
  const std::string crossing = client_.bytes();
  client_.receive(notice);
  EXPECT_TRUE(host_.receive(crossing));
  settle();
  ASSERT_EQ(client_.goaways.size(), 2U);
  EXPECT_EQ(client_.goaways[0].first, id_max);
  EXPECT_EQ(client_.goaways[1].first, second);
  EXPECT_EQ(client_.goaways[1].second, 0U);
  EXPECT_FALSE(host_.session->finished());
  host_.respond(first, Response(200, "1"));
  host_.respond(second, Response(200, "2"));
  settle();
  EXPECT_EQ(client_.answers[first].body, "1");
  EXPECT_EQ(client_.answers[second].body, "2");
  EXPECT_TRUE(host_.session->finished());
}

TEST_P(H2Session, EndsAfterAStreamAndTellsWhich) {
  const std::int32_t first = client_.request("GET", "/first");
  const std::int32_t second = client_.request("GET", "/second");
  const std::int32_t third = client_.request("GET", "/third");
  host_.last = static_cast<std::uint32_t>(second);
  EXPECT_TRUE(host_.receive(client_.bytes()));
  settle();
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0], std::pair(second, 0U));
  const std::int32_t fourth = client_.request("GET", "/fourth");
  host_.respond(first, Response(200, "1"));
  host_.respond(second, Response(200, "2"));
  settle();
  EXPECT_EQ(client_.answers[first].body, "1");
  EXPECT_EQ(client_.answers[second].body, "2");
  EXPECT_FALSE(client_.answers.contains(third));
  EXPECT_FALSE(client_.answers.contains(fourth));
  EXPECT_TRUE(host_.session->finished());
}

TEST_P(H2Session, Terminates) {
  client_.request("GET", "/");
  settle();
  host_.session->terminate(ErrorCode::no_error);
  client_.receive(host_.take());
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0], std::pair(1, 0U));
  EXPECT_TRUE(host_.session->finished());
}

TEST_P(H2Session, RefusesAWrongPreface) {
  EXPECT_FALSE(host_.receive("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"));
}

TEST_P(H2Session, DoesNotLetAClientComeBackToAStreamItPassedOver) {
  nghttp2_session_set_next_stream_id(client_.get(), 5);
  client_.request("GET", "/");
  settle();
  host_.receive(get(3));
  client_.receive(host_.take());
  ASSERT_EQ(client_.goaways.size(), 1U);
  EXPECT_EQ(client_.goaways[0].second, static_cast<std::uint32_t>(ErrorCode::protocol_error));
}

TEST_P(H2Session, SendsTrailersAndReceivesThem) {
  class Source final : public BodySource {
   public:
    Task<Result<std::string_view>> read() override { co_return std::string_view(); }
    std::span<const Field> trailers() const noexcept override { return fields_; }

   private:
    const std::vector<Field> fields_ = {{"Sum", "1"}, {"content-length", "2"}, {"x", "y"}};
  };
  const std::int32_t id =
      client_.request("POST", "/", {{"te", "trailers"}}, "abc", true, {{"t", "u"}, {"v", "w"}});
  settle();
  const H2Exchange& exchange = host_.exchange(1);
  EXPECT_EQ(host_.log, "1 POST /\n1 data\n1 ended\n");
  EXPECT_EQ(exchange.session.trailers.size(), 2U);
  EXPECT_EQ(exchange.session.trailers.find("v"), "w");
  host_.respond(1, Response(std::make_unique<Source>(), "text/plain"));
  ASSERT_TRUE(host_.exchange(1).outgoing.offer("abc").has_value());
  host_.session->body_offered(host_.exchange(1));
  settle();
  ASSERT_TRUE(host_.exchange(1).outgoing.offer("").has_value());
  host_.session->body_offered(host_.exchange(1));
  settle();
  EXPECT_EQ(client_.answers[id].body, "abc");
  EXPECT_EQ(client_.answers[id].trailers, "sum=1;x=y;");
  EXPECT_TRUE(client_.answers[id].ended);
  EXPECT_TRUE(host_.alive.empty());
}

}  // namespace session_test
}  // namespace h2server::http::h2
