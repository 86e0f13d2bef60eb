// TraceSender: takes the spans of sampled requests from the workers and POSTs them to a collector,
// as OTLP over HTTP with protobuf (https://opentelemetry.io/docs/specs/otlp, "OTLP/HTTP").
//
// It has a thread of its own, which all waiting is left to: a collector that is slow or gone costs
// spans, never a request. Must outlive the workers that offer spans.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "app/client/http_client.h"
#include "observe/otlp.h"

namespace h2server::app {

struct TraceSenderOptions {
  std::string endpoint;  // the whole URL: "http://127.0.0.1:4318/v1/traces"
  std::vector<observe::Attribute> resource = {};  // "service.name" and so on
  std::size_t queued_max = 2048;                  // spans, some KiB each; as many may be in flight
  std::size_t batch_max = 512;                    // spans of one request
  std::chrono::milliseconds batch_wait{1000};     // from a batch's first span until it is sent
  std::chrono::milliseconds time_max{10'000};     // of one try
  unsigned tries = 5;
  std::chrono::milliseconds first_retry{1000};  // doubles with each, unless Retry-After says when
  std::chrono::milliseconds flush_max{1000};    // of stop()
};

class TraceSender {
 public:
  // Numbers of spans since the start.
  struct Counts {
    std::uint64_t sent = 0;     // the collector took them
    std::uint64_t dropped = 0;  // the queue was full, or it had stopped
    std::uint64_t failed = 0;   // given up
  };

  explicit TraceSender(TraceSenderOptions options);
  TraceSender(const TraceSender&) = delete;
  TraceSender& operator=(const TraceSender&) = delete;
  ~TraceSender();

  // Without a thread, it logs that, and drops all spans: they are worth no request.
  void start();
  // Any thread. Holds a lock while it moves one span, never while anything is sent.
  void offer(observe::Span span);
  // Sends what is queued, for at most `flush_max`, and ends the thread. May be called again, but by
  // one thread.
  void stop() noexcept;

  // Any thread.
  [[nodiscard]] Counts counts() const noexcept;
  [[nodiscard]] std::size_t queued() const;

 private:
  enum class Outcome : std::uint8_t { sent, refused, retry };

  void run();
  bool take(std::vector<observe::Span>& taken);
  void send(std::span<const observe::Span> batch);
  Outcome try_once(const HttpRequest& request, std::chrono::milliseconds& wait);
  bool sleep(std::chrono::milliseconds time);
  void report(std::string_view reason);

  const TraceSenderOptions options_;
  HttpClient client_;
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> failed_{0};
  mutable std::mutex mutex_;  // guards the next four
  std::condition_variable changed_;
  std::vector<observe::Span> queue_;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  std::thread thread_;
  // Of the thread: when a failure was logged last.
  std::chrono::steady_clock::time_point logged_ = std::chrono::steady_clock::time_point::min();
};

}  // namespace h2server::app
