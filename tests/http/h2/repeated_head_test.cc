// Tests that a field block that a connection sends again means what it meant, or what it means now.
#include "http/h2/repeated_head.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "http/h2/frames.h"
#include "http/h2/session_host.h"

namespace h2server::http::h2 {
namespace repeated_head_test {

using namespace std::literals;

// GET / of "http" and the authority "a", without indexing that.
const std::string start = "\x82\x86\x84\x01\x01" + "a"s;
const std::string newest = "\xbe";  // the newest entry of the dynamic table

std::string inserted(std::string_view name, std::string_view value) {
  return "\x40" + hpack_string(name) + hpack_string(value);
}

// The thread's head outlives a test, with its pause.
class RepeatedHeadTest : public testing::Test {
 protected:
  void SetUp() override { RepeatedHead::of_thread() = RepeatedHead(); }
};

std::unique_ptr<SessionHost> opened(const Limits& limits = {}) {
  auto host = std::make_unique<SessionHost>(Http2Implementation::native, limits);
  host->receive(opening());
  host->take();
  return host;
}

std::string text_of(const H2Exchange& exchange) {
  const RequestHead& head = exchange.head;
  std::string text = std::string(head.method_name) + " " + std::string(head.target) + " " +
                     std::string(head.authority);
  for (const Field& field : head.fields) {
    text += " " + std::string(field.name) + "=" + std::string(field.value);
  }
  return text;
}

// Returns the head of a request with that block, or what the session sends instead.
std::string answer(SessionHost& host, std::uint32_t id, const std::string& block) {
  host.receive(headers(id, block));
  return host.has(id) ? text_of(host.exchange(id)) : describe(host.take());
}

TEST_F(RepeatedHeadTest, MeansTheSameWhileTheTableDoes) {
  const auto host = opened();
  EXPECT_EQ(answer(*host, 1, start + inserted("priority", "u=1") + inserted("x", "y")),
            "GET / a priority=u=1 x=y");
  for (std::uint32_t id = 3; id < 20; id += 2) {
    ASSERT_EQ(answer(*host, id, start + "\xbe\xbf"), "GET / a x=y priority=u=1") << id;
    EXPECT_EQ(host->exchange(id).head.method, Method::GET);
    EXPECT_EQ(host->exchange(id).stream.priority.urgency, 1);
  }
  for (std::uint32_t id = 3; id < 20; id += 2) {  // each has a copy
    EXPECT_EQ(text_of(host->exchange(id)), "GET / a x=y priority=u=1") << id;
  }
}

TEST_F(RepeatedHeadTest, ChangesWithTheTable) {
  const auto host = opened();
  EXPECT_EQ(answer(*host, 1, start + inserted("x", "1")), "GET / a x=1");
  for (const std::uint32_t id : {3U, 5U, 7U}) {
    EXPECT_EQ(answer(*host, id, start + newest), "GET / a x=1");
  }
  EXPECT_EQ(answer(*host, 9, start + inserted("x", "2")), "GET / a x=2");
  for (const std::uint32_t id : {11U, 13U, 15U}) {
    EXPECT_EQ(answer(*host, id, start + newest), "GET / a x=2");
  }
  EXPECT_EQ(answer(*host, 17, "\x20" + start), "GET / a");  // empties the table
  EXPECT_EQ(answer(*host, 19, start + newest), "goaway19=9");
}

// A block that inserts does so each time.
TEST_F(RepeatedHeadTest, ChangesTheTableAgain) {
  const auto host = opened();
  for (const std::uint32_t id : {1U, 3U, 5U, 7U}) {
    EXPECT_EQ(answer(*host, id, start + inserted("x", "1")), "GET / a x=1");
  }
  EXPECT_EQ(answer(*host, 9, start + "\xbe\xbf\xc0\xc1"), "GET / a x=1 x=1 x=1 x=1");
}

TEST_F(RepeatedHeadTest, IsThatOfItsConnection) {
  const auto one = opened();
  const auto other = opened();
  EXPECT_EQ(answer(*one, 1, start + inserted("x", "1")), "GET / a x=1");
  EXPECT_EQ(answer(*other, 1, start + inserted("x", "2")), "GET / a x=2");
  for (const std::uint32_t id : {3U, 5U, 7U}) {
    EXPECT_EQ(answer(*one, id, start + newest), "GET / a x=1");
  }
  for (const std::uint32_t id : {3U, 5U, 7U}) {
    EXPECT_EQ(answer(*other, id, start + newest), "GET / a x=2");
    EXPECT_EQ(answer(*one, id + 10, start + newest), "GET / a x=1");
  }
}

TEST_F(RepeatedHeadTest, IsDecodedAgainIfItSaysMore) {
  const auto host = opened();
  const std::string length = "\x83\x86\x84\x01\x01" + "a"s + "\x0f\x0d\x01" + "3";
  const std::string expects = start + "\x0f\x14\x0c" + "100-continue";
  for (const std::uint32_t id : {1U, 3U, 5U, 7U}) {
    host->receive(headers(id, length, flag::end_headers));
    EXPECT_EQ(host->exchange(id).head.content_length, 3U);
    EXPECT_EQ(host->exchange(id).stream.content_left, 3U);
  }
  for (const std::uint32_t id : {9U, 11U, 13U, 15U}) {
    host->receive(headers(id, expects, flag::end_headers));
    EXPECT_TRUE(host->exchange(id).session.expects_continue);
  }
}

TEST_F(RepeatedHeadTest, IsMalformedOrTooLargeEachTime) {
  Limits limits;
  limits.head_bytes_max = 500;
  limits.streams_max = 1000;
  const auto host = opened(limits);
  const std::string large(200, 'x');
  EXPECT_EQ(answer(*host, 1, start + inserted("x", large)), "GET / a x=" + large);
  for (const std::uint32_t id : {3U, 5U, 7U, 9U}) {
    host->receive(headers(id, start + newest + newest));
    EXPECT_TRUE(host->exchange(id).session.head_too_large) << id;
  }
  for (std::uint32_t id = 11; id < 20; id += 2) {
    EXPECT_EQ(answer(*host, id, newest + start), "reset" + std::to_string(id) + "=1");
  }
}

TEST_F(RepeatedHeadTest, PausesWhereNothingRepeats) {
  const auto host = opened();
  answer(*host, 1, start);
  const H2Exchange& exchange = host->exchange(1);
  RepeatedHead head;
  const RepeatedHead::Context context{.connection = 1, .table = 0};
  const auto note = [&](std::string_view block) { head.note(context, block, exchange); };
  for (const std::string_view block : {"a", "b", "b", "c", "d", "e"}) {
    EXPECT_TRUE(head.may_repeat()) << block;
    note(block);
  }
  EXPECT_TRUE(head.may_repeat());
  note("f");  // the fourth in a row
  int paused = 0;
  while (!head.may_repeat()) ++paused;
  EXPECT_EQ(paused, 59);
  note("g");
  EXPECT_TRUE(head.may_repeat());
  note("g");
  H2Exchange& other = host->exchange(1);
  EXPECT_TRUE(head.restore(context, "g", other));
}

// Longer than what is kept.
TEST_F(RepeatedHeadTest, MayBeLong) {
  const auto host = opened();
  const std::string path = "/" + std::string(3000, 'x');
  const std::string first = "\x82\x86\x01\x01" + "a"s;
  EXPECT_EQ(answer(*host, 1, first + "\x44" + hpack_string(path)), "GET " + path + " a");
  const std::string same = "\x82\x86\xbe\x01\x01" + "a"s;
  for (const std::uint32_t id : {3U, 5U, 7U, 9U}) {
    EXPECT_EQ(answer(*host, id, same), "GET " + path + " a");
  }
}

}  // namespace repeated_head_test
}  // namespace h2server::http::h2
