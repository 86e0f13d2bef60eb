#include "app/admin/trace_sender.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/http_stub.h"
#include "base/no_threads.h"

namespace h2server::app {
namespace trace_sender_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using tests::HttpStub;

observe::Span span_of(std::uint8_t number) {
  observe::Span span;
  span.trace_id.fill(number);
  span.span_id.fill(number);
  span.name = "GET /";
  return span;
}

std::string encoded(std::initializer_list<std::uint8_t> numbers) {
  std::vector<observe::Span> spans;
  for (const std::uint8_t number : numbers) spans.push_back(span_of(number));
  return observe::encode_export(spans, std::vector<observe::Attribute>{{"service.name", "test"}});
}

// Nothing is sent or tried again because time has passed, unless a test says so.
TraceSenderOptions options_for(const HttpStub& stub) {
  return {.endpoint = stub.url("/v1/traces"),
          .resource = {{"service.name", "test"}},
          .batch_max = 2,
          .batch_wait = hours(1),
          .time_max = hours(1),
          .first_retry = milliseconds(0),
          .flush_max = hours(1)};
}

TEST(TraceSender, SendsFullBatches) {
  HttpStub stub({"200"});
  TraceSender sender(options_for(stub));
  sender.start();
  sender.offer(span_of(1));
  sender.offer(span_of(2));
  const auto received = stub.wait_for(1);
  EXPECT_TRUE(received[0].head.starts_with("POST /v1/traces HTTP/1.1\r\n")) << received[0].head;
  EXPECT_NE(received[0].head.find("Content-Type: application/x-protobuf"), std::string::npos);
  EXPECT_EQ(received[0].body, encoded({1, 2}));
  sender.stop();
  EXPECT_EQ(sender.counts().sent, 2u);
}

TEST(TraceSender, SendsWhatHasWaited) {
  HttpStub stub({"200"});
  TraceSenderOptions options = options_for(stub);
  options.batch_wait = milliseconds(1);
  TraceSender sender(options);
  sender.start();
  sender.offer(span_of(1));
  EXPECT_EQ(stub.wait_for(1)[0].body, encoded({1}));
}

TEST(TraceSender, StopSendsTheRestInBatches) {
  HttpStub stub({"200"});
  TraceSender sender(options_for(stub));
  for (std::uint8_t number = 1; number <= 5; ++number) sender.offer(span_of(number));
  sender.start();
  sender.stop();
  const auto received = stub.wait_for(3);
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[0].body, encoded({1, 2}));
  EXPECT_EQ(received[1].body, encoded({3, 4}));
  EXPECT_EQ(received[2].body, encoded({5}));
  EXPECT_EQ(sender.counts().sent, 5u);
  sender.stop();
}

TEST(TraceSender, DropsWhatDoesNotFit) {
  HttpStub stub({"200"});
  TraceSenderOptions options = options_for(stub);
  options.queued_max = 3;
  TraceSender sender(options);
  for (std::uint8_t number = 1; number <= 5; ++number) sender.offer(span_of(number));
  EXPECT_EQ(sender.queued(), 3u);
  EXPECT_EQ(sender.counts().dropped, 2u);
  sender.start();
  sender.stop();
  sender.offer(span_of(6));
  EXPECT_EQ(sender.counts().sent, 3u);
  EXPECT_EQ(sender.counts().dropped, 3u);
}

// Each row: what the collector answers, how often it is asked, and what becomes of the spans.
TEST(TraceSender, Answers) {
  struct Row {
    std::vector<std::string> answers;
    std::size_t requests;
    std::uint64_t sent;
  };
  const std::vector<Row> rows = {
      {{"200"}, 1, 2},        {{"202"}, 1, 2},
      {{"429", "200"}, 2, 2}, {{"502", "503", "504", "429", "200"}, 5, 2},
      {{"503"}, 5, 0},        {{"close", "200"}, 2, 2},
      {{"close"}, 5, 0},      {{"400"}, 1, 0},
      {{"401"}, 1, 0},        {{"500"}, 1, 0},
      {{"301"}, 1, 0},
  };
  for (const Row& row : rows) {
    HttpStub stub(row.answers);
    TraceSender sender(options_for(stub));
    sender.offer(span_of(1));
    sender.offer(span_of(2));
    sender.start();
    sender.stop();
    const auto received = stub.wait_for(row.requests);
    EXPECT_EQ(received.size(), row.requests) << row.answers[0];
    for (const auto& request : received) EXPECT_EQ(request.body, encoded({1, 2}));
    EXPECT_EQ(sender.counts().sent, row.sent) << row.answers[0];
    EXPECT_EQ(sender.counts().failed, 2 - row.sent) << row.answers[0];
    EXPECT_EQ(sender.counts().dropped, 0u) << row.answers[0];
  }
}

TEST(TraceSender, RetriesWhenTheCollectorSaysSo) {
  HttpStub stub({"503 Retry-After: 1", "200"});
  TraceSenderOptions options = options_for(stub);
  options.first_retry = hours(1);
  TraceSender sender(options);
  sender.start();
  sender.offer(span_of(1));
  sender.offer(span_of(2));
  EXPECT_EQ(stub.wait_for(2)[1].body, encoded({1, 2}));
}

TEST(TraceSender, StopEndsARequestThatHangs) {
  HttpStub stub({"hang"});
  TraceSenderOptions options = options_for(stub);
  options.flush_max = milliseconds(0);
  TraceSender sender(options);
  sender.start();
  sender.offer(span_of(1));
  sender.offer(span_of(2));
  EXPECT_EQ(stub.wait_for(1).size(), 1u);
  sender.offer(span_of(3));
  sender.stop();
  EXPECT_EQ(sender.counts().sent, 0u);
  EXPECT_EQ(sender.counts().failed, 3u);
}

TEST(TraceSender, StopEndsAPause) {
  HttpStub stub({"503"});
  TraceSenderOptions options = options_for(stub);
  options.first_retry = hours(1);
  options.flush_max = milliseconds(0);
  TraceSender sender(options);
  sender.start();
  sender.offer(span_of(1));
  sender.offer(span_of(2));
  EXPECT_EQ(stub.wait_for(1).size(), 1u);
  sender.stop();
  EXPECT_EQ(sender.counts().failed, 2u);
}

TEST(TraceSender, CollectorThatIsNotThere) {
  TraceSender sender({.endpoint = "http://127.0.0.1:1/v1/traces",  // tcpmux, which no one has
                      .first_retry = milliseconds(0)});
  sender.offer(span_of(1));
  sender.start();
  sender.stop();
  EXPECT_EQ(sender.counts().failed, 1u);
}

TEST(TraceSender, ManyThreadsOffer) {
  HttpStub stub({"200"});
  TraceSender sender(options_for(stub));
  sender.start();
  constexpr unsigned each = 200;
  std::vector<std::thread> threads;
  for (std::uint8_t number = 1; number <= 4; ++number) {
    threads.emplace_back([&sender, number] {
      for (unsigned i = 0; i < each; ++i) sender.offer(span_of(number));
    });
  }
  for (std::thread& thread : threads) thread.join();
  sender.stop();
  EXPECT_EQ(sender.counts().sent, 4u * each);
}

// A server does not end for want of traces.
TEST(TraceSender, NoThread) {
  HttpStub stub({"200"});
  TraceSender sender(options_for(stub));
  sender.offer(span_of(1));
  {
    const tests::NoThreads none;
    sender.start();
  }
  sender.offer(span_of(2));
  EXPECT_EQ(sender.counts().dropped, 2u);
  EXPECT_EQ(sender.queued(), 0u);
  sender.stop();
  EXPECT_EQ(sender.counts().sent, 0u);
}

TEST(TraceSender, NeverStarted) {
  TraceSender sender({.endpoint = "http://127.0.0.1:1/"});
  sender.offer(span_of(1));
  sender.stop();
  EXPECT_EQ(sender.counts().sent, 0u);
}

}  // namespace trace_sender_test
}  // namespace h2server::app
