// Tests the parts of the native session: frame.h, flow.h, rate_limit.h and streams.h.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/h2/flow.h"
#include "http/h2/frame.h"
#include "http/h2/rate_limit.h"
#include "http/h2/streams.h"

namespace h2server::http::h2 {
namespace native_units_test {

TEST(FrameHead, IsReadAsItIsWritten) {
  const std::vector<FrameHead> rows = {
      {.size = 0, .type = FrameType::data, .flags = 0, .stream = 0},
      {.size = 0xff'ffff, .type = FrameType::priority_update, .flags = 0xff, .stream = 0x7fff'ffff},
      {.size = 0x01'0203, .type = static_cast<FrameType>(0xfe), .flags = 4, .stream = 0x0102'0304},
  };
  for (const FrameHead& row : rows) {
    std::array<char, frame_head_bytes> bytes;
    write_frame_head(bytes.data(), row);
    bytes[5] = static_cast<char>(bytes[5] | 0x80);  // reserved bit
    const FrameHead head = read_frame_head(bytes.data());
    EXPECT_EQ(head.size, row.size);
    EXPECT_EQ(head.type, row.type);
    EXPECT_EQ(head.flags, row.flags);
    EXPECT_EQ(head.stream, row.stream);
  }
}

TEST(ReceiveWindow, AnnouncesHalfAWindowAtATime) {
  ReceiveWindow window(100);
  EXPECT_TRUE(window.take(100));
  EXPECT_FALSE(window.take(1));
  EXPECT_EQ(window.give_back(49), 0U);
  EXPECT_FALSE(window.take(1)) << "not announced yet";
  EXPECT_EQ(window.give_back(1), 50U);
  EXPECT_TRUE(window.take(50));
  EXPECT_EQ(window.give_back(50), 50U);
}

TEST(ReceiveWindow, ShrinksByWhatIsNotAnnounced) {
  ReceiveWindow window(100);
  EXPECT_EQ(window.shrink(100), 0U);  // the peer may use all of it
  EXPECT_TRUE(window.take(60));
  window.release(40);
  EXPECT_EQ(window.shrink(30), 30U);
  EXPECT_EQ(window.unread(), 20U);
  EXPECT_EQ(window.shrink(30), 10U);
  EXPECT_EQ(window.announce(), 0U);
  EXPECT_EQ(window.left(), 40U);
  EXPECT_EQ(window.unread(), 20U);
  EXPECT_TRUE(window.take(40));
  EXPECT_EQ(window.give_back(60), 60U);  // its size now
}

TEST(ReceiveWindow, Grows) {
  ReceiveWindow window(100);
  EXPECT_EQ(window.grow_to(150), 50U);
  EXPECT_TRUE(window.take(150));
  EXPECT_EQ(window.grow_to(10), 0U);  // the peer may use what was announced
  EXPECT_EQ(window.grow_to(150), 0U);
}

TEST(RateLimit, AllowsSoManyAtOnceAndSoManyASecond) {
  RateLimit limit(3, 2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.allow(1000));
  EXPECT_FALSE(RateLimit(limit).allow(1000));
  EXPECT_FALSE(RateLimit(limit).allow(1499));
  EXPECT_TRUE(limit.allow(1500));
  EXPECT_FALSE(RateLimit(limit).allow(1500));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.allow(1'000'000));  // capped at the burst
  EXPECT_FALSE(limit.allow(1'000'000));
}

TEST(RateLimit, IsEarned) {
  RateLimit limit(2, 0);
  EXPECT_TRUE(limit.allow(1));
  limit.earn(5);
  EXPECT_TRUE(limit.allow(1));
  EXPECT_TRUE(limit.allow(1));
  EXPECT_FALSE(RateLimit(limit).allow(1)) << "no more than at once";
  limit.earn(1);
  EXPECT_TRUE(limit.allow(1));
}

TEST(Streams, RemembersWhatBecameOfThem) {
  using enum Streams::Past;
  base::Pool<H2Exchange> exchanges;
  Streams streams(exchanges);
  EXPECT_EQ(streams.past(1), idle);
  EXPECT_EQ(streams.past(2), idle);
  streams.use(5);
  EXPECT_EQ(streams.past(1), skipped);
  EXPECT_EQ(streams.past(3), skipped);
  EXPECT_EQ(streams.past(5), ended);
  EXPECT_EQ(streams.past(7), idle);
  EXPECT_EQ(streams.past(4), idle);
  streams.mark_reset(5);
  EXPECT_EQ(streams.past(5), reset);
  streams.use(7);
  streams.use(131);
  EXPECT_EQ(streams.past(5), reset);  // 63 identifiers before the last
  EXPECT_EQ(streams.past(7), ended);
  EXPECT_EQ(streams.past(9), skipped);
  EXPECT_EQ(streams.past(3), forgotten);
  streams.mark_reset(3);  // no effect
  streams.use(1'000'001);
  EXPECT_EQ(streams.past(131), forgotten);
  EXPECT_EQ(streams.past(999'999), skipped);
  EXPECT_EQ(streams.past(largest_stream), idle);
  EXPECT_EQ(streams.last_id(), 1'000'001U);
}

TEST(Streams, FindsThoseThatAreAlive) {
  base::Pool<H2Exchange> exchanges;
  Streams streams(exchanges);
  std::vector<H2Exchange*> opened;
  for (std::uint32_t id = 1; id < 400; id += 2) {
    streams.use(id);
    opened.push_back(&streams.open(id));
    opened.back()->stream.announced = true;
  }
  EXPECT_EQ(streams.alive(), 200U);
  std::size_t seen = 0;
  streams.for_each([&](H2Exchange&) { ++seen; });
  EXPECT_EQ(seen, 200U);
  for (H2Exchange* const one : opened) EXPECT_EQ(streams.find(one->id), one);
  EXPECT_EQ(streams.find(401), nullptr);
  for (std::size_t i = 0; i < opened.size(); i += 2) streams.close(*opened[i]);
  EXPECT_EQ(streams.alive(), 100U);
  for (std::size_t i = 0; i < opened.size(); ++i) {
    EXPECT_EQ(streams.find(opened[i]->id), i % 2 == 0 ? nullptr : opened[i]);
  }
  SessionEvent event;
  for (std::size_t i = 0; i < opened.size(); i += 2) {
    ASSERT_TRUE(streams.next_notification(event));
    EXPECT_EQ(event.exchange, opened[i]) << "in the order in which they were closed";
    EXPECT_EQ(event.kind, SessionEvent::Kind::closed);
  }
  EXPECT_FALSE(streams.next_notification(event));
  for (std::size_t i = 1; i < opened.size(); i += 2) streams.close(*opened[i]);
  for (H2Exchange* const one : opened) base::Pool<H2Exchange>::Pointer(one, {&exchanges}).reset();
}

TEST(Streams, TellsOfEachOnce) {
  base::Pool<H2Exchange> exchanges;
  Streams streams(exchanges);
  streams.use(1);
  H2Exchange& exchange = streams.open(1);
  exchange.stream.announced = true;
  SessionEvent event;
  streams.notify(exchange);
  streams.notify(exchange);
  ASSERT_TRUE(streams.next_notification(event));
  EXPECT_EQ(event.kind, SessionEvent::Kind::body_wanted);
  EXPECT_FALSE(streams.next_notification(event));
  streams.notify(exchange);
  streams.close(exchange);
  ASSERT_TRUE(streams.next_notification(event));
  EXPECT_EQ(event.kind, SessionEvent::Kind::closed) << "which says it all";
  EXPECT_FALSE(streams.next_notification(event));
  base::Pool<H2Exchange>::Pointer(&exchange, {&exchanges}).reset();
}

}  // namespace native_units_test
}  // namespace h2server::http::h2
