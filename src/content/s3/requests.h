// Requests: requests to an S3 store, which are tried again while the store can't answer them,
// within a budget that all requests share. All are idempotent, or their caller finds out what they
// did.
//
// Any worker. It must outlive the transfers.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "content/s3/answers.h"
#include "content/s3/transfers.h"
#include "h2server/store.h"
#include "h2server/task.h"
#include "h2server/timing.h"

namespace h2server::content::s3 {

struct RetryLimits {
  unsigned tries_max = 3;  // of a request
  // Before a retry: a random time, at most this; twice as much before the next one.
  std::chrono::milliseconds pause{50};
  std::chrono::milliseconds pause_max{1000};
  // A retry takes five, a success gives one back. So in an outage there are hardly more requests
  // than before it.
  // A read that is asked for a second time takes ten: at most one of ten requests.
  int budget = 500;
  // A GET or HEAD without an answer by then is sent once more; 0: none is.
  std::chrono::milliseconds hedge_after{0};
  // A body that brings nothing for this time ends. A store that is restarted takes less.
  std::chrono::milliseconds stall_max{10'000};
  // For calls that write and have no time of their own.
  std::chrono::milliseconds write_max{30'000};
};

// A response with a status below 300.
struct OpenedTransfer {
  std::unique_ptr<Transfer> transfer;
  AnswerHead head;
};
struct WholeAnswer {
  AnswerHead head = {};
  std::string text = {};
  bool cut = false;  // at AnswerLimits::list_bytes_max
};

// Yields Kind::late if the time passes.
template <class T>
Task<StoreResult<T>> in_time(std::chrono::milliseconds time, Task<StoreResult<T>> task) {
  Result<StoreResult<T>> timed = co_await with_timeout(time, std::move(task));
  if (!timed) co_return std::unexpected(StoreError{.kind = StoreError::Kind::late});
  co_return *std::move(timed);
}

class Requests {
 public:
  using Clock = std::chrono::steady_clock;

  Requests(TransfersOptions transfers, const RetryLimits& retries);

  Task<StoreResult<OpenedTransfer>> open_once(TransferRequest request);
  // No retry begins after `end`.
  Task<StoreResult<OpenedTransfer>> open(TransferRequest request, Clock::time_point end);
  // Reads the body, too. An error in it (AWS finds some after it has sent the status 200) is the
  // call's.
  Task<StoreResult<WholeAnswer>> exchange(TransferRequest request, Clock::time_point end);
  // Before the retry with that number, from 1 on.
  [[nodiscard]] std::chrono::milliseconds pause_before(unsigned retry) const noexcept;
  [[nodiscard]] const RetryLimits& limits() const noexcept { return retries_; }
  // See Transfers.
  void stop() noexcept { transfers_.stop(); }

 private:
  template <class T>
  using Attempt = std::function<Task<StoreResult<T>>()>;

  // `expected`: see TransferRequest.
  template <class T>
  Task<StoreResult<T>> retry(Attempt<T> attempt, Clock::time_point end, bool expected);
  Task<StoreResult<WholeAnswer>> exchange_once(TransferRequest request);
  // Waits for the answer, and sends the request again if it takes long. What is not needed ends.
  Task<StoreResult<OpenedTransfer>> first_answer(std::unique_ptr<Transfer> transfer,
                                                 TransferRequest again);
  bool take(int cost) noexcept;
  void note_success() noexcept;

  const RetryLimits retries_;
  std::atomic<int> budget_;
  Transfers transfers_;
};

}  // namespace h2server::content::s3
