#include "content/s3/requests.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/random.h"
#include "content/store/counted_store.h"
#include "h2server/stop.h"

namespace h2server::content::s3 {

namespace {

using Kind = StoreError::Kind;
using std::chrono::milliseconds;

constexpr int retry_cost = 5;
constexpr int hedge_cost = 10;

StoreResult<OpenedTransfer> opened(std::unique_ptr<Transfer> transfer, Transfer::Outcome outcome) {
  if (!outcome) return std::unexpected(std::move(outcome.error()));
  if (outcome->head.status >= 300) {
    return std::unexpected(store_error(outcome->head, outcome->error_body));
  }
  return OpenedTransfer{.transfer = std::move(transfer), .head = std::move(outcome->head)};
}

bool fails_for_now(const Transfer::Outcome& outcome) {
  if (!outcome) return may_be_retried(outcome.error());
  return outcome->head.status >= 300 &&
         may_be_retried(store_error(outcome->head, outcome->error_body));
}

bool only_reads(const TransferRequest& request) noexcept {
  return request.method == TransferRequest::Method::get ||
         request.method == TransferRequest::Method::head;
}

}  // namespace

Requests::Requests(TransfersOptions transfers, const RetryLimits& retries)
    : retries_(retries), budget_(retries.budget), transfers_(std::move(transfers)) {}

Task<StoreResult<OpenedTransfer>> Requests::open_once(TransferRequest request) {
  const bool hedged = retries_.hedge_after > milliseconds(0) && only_reads(request);
  TransferRequest again;
  if (hedged) again = request;
  StoreResult<std::unique_ptr<Transfer>> transfer = transfers_.begin(std::move(request));
  if (!transfer) co_return std::unexpected(std::move(transfer.error()));
  if (hedged) {
    StoreResult<OpenedTransfer> first =
        co_await first_answer(*std::move(transfer), std::move(again));
    co_return first;
  }
  TransferArrival arrival = co_await (*transfer)->answer();
  co_return opened(*std::move(transfer), std::move(arrival.outcome));
}

Task<StoreResult<OpenedTransfer>> Requests::first_answer(std::unique_ptr<Transfer> transfer,
                                                         TransferRequest again) {
  std::optional<TransferArrival> early = co_await transfer->answer_within(retries_.hedge_after);
  if (early) co_return opened(std::move(transfer), std::move(early->outcome));
  const StopToken stop = co_await own_stop_token();
  StoreResult<std::unique_ptr<Transfer>> second = std::unexpected(StoreError());
  if (!stop.stop_requested() && take(hedge_cost)) {
    second = transfers_.begin_beside(*transfer, std::move(again));
  }
  TransferArrival arrival = co_await transfer->answer();
  if (second && fails_for_now(arrival.outcome)) {
    TransferArrival other = co_await transfer->answer();
    arrival = std::move(other);
  }
  if (!second) co_return opened(std::move(transfer), std::move(arrival.outcome));
  StoreResult<OpenedTransfer> result =
      opened(arrival.beside ? *std::move(second) : std::move(transfer), std::move(arrival.outcome));
  StoreCounts::of_process().note_hedge(arrival.beside);
  co_return result;
}

Task<StoreResult<WholeAnswer>> Requests::exchange_once(TransferRequest request) {
  StoreResult<OpenedTransfer> opened = co_await open_once(std::move(request));
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  WholeAnswer answer{.head = std::move(opened->head)};
  for (;;) {
    StoreResult<std::string> piece = co_await opened->transfer->read();
    if (!piece) co_return std::unexpected(std::move(piece.error()));
    if (piece->empty()) break;
    if (piece->size() > AnswerLimits::list_bytes_max - answer.text.size()) {
      answer.cut = true;
      break;
    }
    answer.text += *piece;
  }
  if (is_error_text(answer.text)) {
    co_return std::unexpected(store_error(answer.head, answer.text));
  }
  co_return answer;
}

template <class T>
Task<StoreResult<T>> Requests::retry(Attempt<T> attempt, Clock::time_point end, bool expected) {
  for (unsigned tries = 1;; ++tries) {
    Task<StoreResult<T>> trying = attempt();
    StoreResult<T> result = co_await std::move(trying);
    const bool passes = !result && (may_be_retried(result.error()) ||
                                    (expected && result.error().kind == Kind::absent));
    if (!passes) {
      note_success();  // whatever it answers, the store works
      co_return result;
    }
    const milliseconds pause = std::max(pause_before(tries), result.error().retry_after);
    const bool again = tries < retries_.tries_max && Clock::now() + pause < end && take(retry_cost);
    if (!again) co_return result;
    StoreCounts::of_process().note_retry();
    const Result<void> slept = co_await sleep_for(pause);
    if (!slept) co_return std::unexpected(StoreError{.kind = Kind::stopped});
  }
}

Task<StoreResult<OpenedTransfer>> Requests::open(TransferRequest request, Clock::time_point end) {
  const bool expected = request.expected;
  return retry<OpenedTransfer>([this, request = std::move(request)] { return open_once(request); },
                               end, expected);
}

Task<StoreResult<WholeAnswer>> Requests::exchange(TransferRequest request, Clock::time_point end) {
  request.brief = true;
  const bool expected = request.expected;
  return retry<WholeAnswer>([this, request = std::move(request)] { return exchange_once(request); },
                            end, expected);
}

bool Requests::take(int cost) noexcept {
  int left = budget_.load(std::memory_order_relaxed);
  while (left >= cost) {
    if (budget_.compare_exchange_weak(left, left - cost, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Requests::note_success() noexcept {
  int left = budget_.load(std::memory_order_relaxed);
  while (left < retries_.budget) {
    if (budget_.compare_exchange_weak(left, left + 1, std::memory_order_relaxed)) return;
  }
}

milliseconds Requests::pause_before(unsigned retry) const noexcept {
  constexpr unsigned doublings_max = 16;
  const auto most =
      std::min(retries_.pause * (1 << std::min(retry - 1, doublings_max)), retries_.pause_max);
  return milliseconds(base::random_number() % (static_cast<std::uint64_t>(most.count()) + 1));
}

}  // namespace h2server::content::s3
