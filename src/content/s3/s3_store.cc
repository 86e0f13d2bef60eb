#include "content/s3/s3_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "content/s3/answers.h"
#include "content/s3/checksums.h"
#include "content/s3/payload.h"
#include "content/store/counted_store.h"
#include "file/calls.h"
#include "h2server/timing.h"
#include "io/engine.h"

namespace h2server::content::s3 {

namespace {

using Kind = StoreError::Kind;
using std::chrono::milliseconds;

const std::string no_body_field = "x-amz-content-sha256: " + std::string(no_body_sha256);

StoreError failure(std::string_view reason) {
  return {.kind = Kind::failed, .reason = std::string(reason)};
}

std::vector<std::string> fields_of(const GetOptions& options) {
  std::vector<std::string> fields = {no_body_field};
  const auto add = [&fields](std::string_view name, const std::string& value) {
    if (!value.empty()) fields.push_back(fmt::format("{}: {}", name, value));
  };
  add("If-Match", options.conditions.if_match);
  add("If-None-Match", options.conditions.if_none_match);
  add("Range", options.range);
  // Otherwise the store would not state it.
  if (options.range.empty()) fields.emplace_back("x-amz-checksum-mode: ENABLED");
  return fields;
}

}  // namespace

// --- a body that goes on ----------------------------------------------------------------------

class S3Store::Body final : public BodySource {
 public:
  Body(Requests& requests, std::string url, OpenedTransfer opened, const ObjectHead& head)
      : requests_(requests),
        url_(std::move(url)),
        etag_(head.info.etag),
        transfer_(std::move(opened.transfer)),
        at_(head.first),
        end_(head.first + head.count) {
    if (opened.head.status == 200) checksum_ = StatedChecksum::of(opened.head);
  }

  Task<Result<std::string_view>> read() override;
  [[nodiscard]] std::size_t bytes_held() const noexcept override {
    return transfer_ != nullptr ? transfer_->bytes_held() : piece_.capacity();
  }

 private:
  Task<StoreResult<void>> go_on();
  Task<Result<void>> verify();
  [[nodiscard]] TransferRequest rest() const;
  [[nodiscard]] StoreResult<void> check(const AnswerHead& head) const;

  Requests& requests_;
  const std::string url_;
  const std::string etag_;
  std::unique_ptr<Transfer> transfer_;  // null while there is none
  std::uint64_t at_;                    // in the object: of the next byte
  const std::uint64_t end_;
  std::string piece_;
  std::optional<StatedChecksum> checksum_;  // of what was read; null: the store has none
  std::string broken_;                      // why the last transfer ended
  unsigned failures_ = 0;                   // since the last byte
  Clock::time_point stalls_until_;
};

Task<Result<std::string_view>> S3Store::Body::read() {
  while (at_ < end_) {
    if (transfer_ == nullptr) {
      const StoreResult<void> reopened = co_await go_on();
      if (!reopened && reopened.error().kind == Kind::stopped) {
        co_return std::unexpected(Error{ECANCELED, "store"});
      }
      if (!reopened) {
        base::log_warning("the store broke a body off ({}), and it can't go on: {}", broken_,
                          reopened.error().reason);
        co_return std::unexpected(Error{EIO, "store"});
      }
    }
    StoreResult<std::string> piece = co_await transfer_->read();
    if (piece && !piece->empty() && piece->size() <= end_ - at_) {
      failures_ = 0;
      piece_ = *std::move(piece);
      at_ += piece_.size();
      const Result<void> sound = co_await verify();
      if (!sound) co_return std::unexpected(sound.error());
      co_return piece_;
    }
    if (!piece && piece.error().kind == Kind::stopped) {
      co_return std::unexpected(Error{ECANCELED, "store"});
    }
    broken_ = piece ? "its length is wrong" : piece.error().reason;
    transfer_.reset();
  }
  co_return std::string_view();
}

// Takes the piece into the checksum. The last piece is held back if that is wrong by then, so that
// nobody takes the object for whole.
Task<Result<void>> S3Store::Body::verify() {
  if (!checksum_) co_return Result<void>();
  // A sum of a piece takes 30 us, a digest 200 us to 600 us.
  io::Engine* const engine = checksum_->slow() ? io::Engine::current() : nullptr;
  auto work = [this] {
    checksum_->update(piece_);
    return true;
  };
  const std::optional<bool> done = co_await file::run_waiting(engine, std::move(work));
  if (!done) co_return std::unexpected(Error{ECANCELED, "store"});
  if (at_ < end_ || checksum_->matches()) co_return Result<void>();
  StoreCounts::of_process().note_corrupt();
  base::log_error("the store sent bytes that do not have the checksum that it states: {}", url_);
  co_return std::unexpected(Error{EIO, "store"});
}

// Opens the rest of the object, again and again until it stalls.
Task<StoreResult<void>> S3Store::Body::go_on() {
  if (etag_.empty()) co_return std::unexpected(failure("the object has no ETag"));
  for (;;) {
    const auto now = Clock::now();
    if (failures_++ == 0) stalls_until_ = now + requests_.limits().stall_max;
    const auto left = std::chrono::ceil<milliseconds>(stalls_until_ - now);
    if (left <= milliseconds(0)) co_return std::unexpected(failure("it stalls"));
    const milliseconds pause = std::min(requests_.pause_before(failures_), left);
    const Result<void> slept = co_await sleep_for(pause);
    if (!slept) co_return std::unexpected(StoreError{.kind = Kind::stopped});
    Task<StoreResult<OpenedTransfer>> opening = requests_.open_once(rest());
    const milliseconds time = std::max(left - pause, milliseconds(1));
    StoreResult<OpenedTransfer> opened = co_await in_time(time, std::move(opening));
    if (opened) {
      const StoreResult<void> same = check(opened->head);
      if (same) transfer_ = std::move(opened->transfer);
      co_return same;
    }
    if (opened.error().kind == Kind::precondition) {
      co_return std::unexpected(failure("the object has changed"));
    }
    const bool passes = may_be_retried(opened.error()) || opened.error().kind == Kind::late;
    if (!passes) co_return std::unexpected(std::move(opened.error()));
  }
}

TransferRequest S3Store::Body::rest() const {
  return {.url = url_,
          .fields = {no_body_field, fmt::format("Range: bytes={}-{}", at_, end_ - 1),
                     "If-Match: " + etag_}};
}

StoreResult<void> S3Store::Body::check(const AnswerHead& head) const {
  const Result<ObjectHead, std::string_view> found = object_head(head);
  if (!found) return std::unexpected(failure(found.error()));
  const bool same = found->info.etag == etag_ && found->first == at_ && found->count == end_ - at_;
  if (!same) return std::unexpected(failure("the rest of the object is another one"));
  return {};
}

// --- Store ------------------------------------------------------------------------------------

S3Store::S3Store(S3StoreOptions options)
    : location_(std::move(options.location)),
      credentials_(std::move(options.credentials)),
      requests_(
          {.region = location_.region,
           .ca_file = std::move(options.ca_file),
           .credentials = [this] { return credentials_.current(base::monotonic_ms() / 1000); },
           .limits = options.transfers},
          options.retries) {}

Task<StoreResult<OpenedObject>> S3Store::get(std::string key, GetOptions options) {
  std::optional<std::string> url = object_url(location_, key);
  if (!url) co_return std::unexpected(StoreError{.kind = Kind::absent});
  TransferRequest request{.url = *url, .fields = fields_of(options), .expected = options.expected};
  auto opening = requests_.open(std::move(request), Clock::now() + options.time_max);
  StoreResult<OpenedTransfer> opened = co_await in_time(options.time_max, std::move(opening));
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  const Result<ObjectHead, std::string_view> head = object_head(opened->head);
  if (!head) co_return std::unexpected(failure(head.error()));
  OpenedObject object{.info = head->info, .first = head->first, .count = head->count};
  object.body = std::make_unique<Body>(requests_, *std::move(url), *std::move(opened), *head);
  co_return object;
}

Task<StoreResult<ObjectInfo>> S3Store::head(std::string key, GetOptions options) {
  std::optional<std::string> url = object_url(location_, key);
  if (!url) co_return std::unexpected(StoreError{.kind = Kind::absent});
  TransferRequest request{.method = TransferRequest::Method::head,
                          .url = *std::move(url),
                          .fields = fields_of(options),
                          .brief = true,
                          .expected = options.expected};
  auto opening = requests_.open(std::move(request), Clock::now() + options.time_max);
  StoreResult<OpenedTransfer> opened = co_await in_time(options.time_max, std::move(opening));
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  Result<ObjectHead, std::string_view> head = object_head(opened->head);
  if (!head) co_return std::unexpected(failure(head.error()));
  co_return std::move(head->info);
}

Task<StoreResult<ListPage>> S3Store::list(ListOptions options) {
  std::optional<std::string> url = list_url(location_, options);
  if (!url) co_return std::unexpected(StoreError{.kind = Kind::absent});
  TransferRequest request{.url = *std::move(url), .fields = {no_body_field}};
  auto fetching = requests_.exchange(std::move(request), Clock::now() + options.time_max);
  StoreResult<WholeAnswer> answer = co_await in_time(options.time_max, std::move(fetching));
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  if (answer->cut) co_return std::unexpected(failure("the list is too long"));
  Result<ListPage, std::string_view> page =
      list_page(answer->text, location_.prefix + options.prefix);
  if (!page) co_return std::unexpected(failure(page.error()));
  co_return *std::move(page);
}

}  // namespace h2server::content::s3
