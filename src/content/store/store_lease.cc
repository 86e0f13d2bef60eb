#include "content/store/store_lease.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text/text.h"
#include "content/storage/pending_files.h"
#include "content/store/store_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::size_t lease_bytes_max = 256;

std::int64_t unix_ms() noexcept { return base::unix_us() / 1000; }

struct LeaseHolder {
  std::string_view owner;
  std::int64_t until_ms = 0;
};

// "OWNER UNTIL\n". What can't be read is nobody's.
LeaseHolder parse_holder(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == text.npos || !text.ends_with('\n')) return {};
  const std::string_view digits = text.substr(space + 1, text.size() - space - 2);
  const std::optional<std::uint64_t> until = base::parse_decimal(digits);
  if (!until) return {};
  return {.owner = text.substr(0, space), .until_ms = static_cast<std::int64_t>(*until)};
}

}  // namespace

StoreLease::StoreLease(Store& store, std::string key, std::chrono::milliseconds time)
    : store_(store), key_(std::move(key)), owner_(new_upload_id()), time_(time) {}

std::int64_t StoreLease::left_ms() const noexcept { return until_ms_ - unix_ms(); }

Task<StoreResult<void>> StoreLease::write(PutOptions options) {
  const std::int64_t until_ms = unix_ms() + time_.count();
  options.time_max = reserve;
  StoreResult<ObjectInfo> written =
      co_await store_.put(key_, fmt::format("{} {}\n", owner_, until_ms), std::move(options));
  if (!written) co_return std::unexpected(std::move(written.error()));
  etag_ = std::move(written->etag);
  until_ms_ = until_ms;
  co_return StoreResult<void>();
}

Task<StoreResult<void>> StoreLease::take() {
  PutOptions options;
  options.must_be_new = true;
  StoreResult<void> taken = co_await write(std::move(options));
  if (taken || taken.error().kind != Kind::precondition) co_return taken;
  StoreResult<void> old = co_await take_over(std::chrono::milliseconds::max());
  co_return old;
}

Task<StoreResult<void>> StoreLease::take_over(std::chrono::milliseconds believed_max) {
  StoreResult<SmallObject> found = co_await read_small_object(store_, key_, lease_bytes_max);
  PutOptions options;
  if (!found) {
    if (found.error().kind != Kind::absent) co_return std::unexpected(std::move(found.error()));
    options.must_be_new = true;  // nobody had it, or it was given back just now
  } else {
    const LeaseHolder holder = parse_holder(found->bytes);
    // Its own: the answer to the put was lost, and the put repeated.
    const std::int64_t left_ms = holder.until_ms - unix_ms();
    if (holder.owner != owner_ && left_ms > 0 && left_ms <= believed_max.count()) {
      co_return std::unexpected(StoreError{.kind = Kind::precondition});
    }
    options.if_match = std::move(found->info.etag);
  }
  StoreResult<void> taken = co_await write(std::move(options));
  if (!taken && taken.error().kind == Kind::absent) taken.error().kind = Kind::precondition;
  co_return taken;
}

Task<StoreResult<void>> StoreLease::keep() {
  if (etag_.empty()) co_return std::unexpected(StoreError{.kind = Kind::precondition});
  if (left_ms() > (reserve + time_ / 4).count()) co_return StoreResult<void>();
  PutOptions options;
  options.if_match = etag_;
  StoreResult<void> kept = co_await write(std::move(options));
  const bool lost =
      !kept && (kept.error().kind == Kind::precondition || kept.error().kind == Kind::absent);
  if (lost) etag_.clear();
  if (!kept && !lost && left_ms() > reserve.count()) kept = StoreResult<void>();
  co_return kept;
}

Task<void> StoreLease::give_back() {
  if (etag_.empty() || left_ms() < reserve.count()) co_return;
  etag_.clear();
  // What stays ends by its time.
  const StoreResult<void> removed = co_await store_.remove(key_);
  static_cast<void>(removed);
}

}  // namespace h2server::content
