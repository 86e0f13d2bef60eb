#include "content/uploads/stored/object_writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "content/store/store_refusals.h"
#include "h2server/own_stop.h"
#include "h2server/timing.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::uint64_t mebibyte = 1024 * 1024;

std::uint64_t part_size(const WriterLimits& limits, std::optional<std::uint64_t> size) noexcept {
  const std::uint64_t needed = size.value_or(0) / PartLimits::number_max + 1;
  const std::uint64_t whole = (needed + mebibyte - 1) / mebibyte * mebibyte;
  return needed <= limits.part_bytes ? limits.part_bytes : std::min(whole, limits.part_bytes_max);
}

}  // namespace

// Waits until a part has been sent, or has failed.
class ObjectWriter::PartEnded {
 public:
  explicit PartEnded(ObjectWriter& writer) noexcept : writer_(writer) {}
  bool await_ready() const noexcept { return writer_.in_flight_ == 0; }
  void await_suspend(std::coroutine_handle<> waiter) noexcept { writer_.waiter_ = waiter; }
  void await_resume() const noexcept {}

 private:
  ObjectWriter& writer_;
};

ObjectWriter::ObjectWriter(const WriterParts& parts, ObjectPlan plan)
    : shared_(parts),
      plan_(std::move(plan)),
      part_bytes_(part_size(parts.limits, plan_.size)),
      budget_bytes_(std::min(part_bytes_, plan_.size.value_or(part_bytes_))) {}

ObjectWriter::~ObjectWriter() { give_back(std::exchange(held_, 0)); }

std::uint64_t ObjectWriter::bytes_max(const WriterLimits& limits, bool size_known) noexcept {
  return PartLimits::number_max * (size_known ? limits.part_bytes_max : limits.part_bytes);
}

void ObjectWriter::give_back(std::uint64_t bytes) {
  if (bytes != 0) shared_.budget.give_back(bytes, plan_.client);
}

// --- bytes in memory --------------------------------------------------------------------------

Task<StoreResult<void>> ObjectWriter::write(std::string_view bytes) {
  if (id_ && note_is_due()) {  // also of a client that takes long for a part
    StoreResult<void> noted = co_await note_progress();
    if (!noted) co_return noted;
  }
  while (!bytes.empty()) {
    StoreResult<void> room = co_await make_room(bytes.size());
    if (!room) co_return room;
    const std::size_t count = std::min<std::size_t>(bytes.size(), part_bytes_ - buffer_.size());
    buffer_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    size_ += count;
  }
  co_return StoreResult<void>();
}

// A full part is sent when more bytes come, so that an object of one part is put.
Task<StoreResult<void>> ObjectWriter::make_room(std::size_t wanted) {
  if (failure_) co_return std::unexpected(*failure_);
  if (buffer_.size() == part_bytes_) {
    StoreResult<void> sent = co_await send_part();
    if (!sent) co_return sent;
  }
  const bool small = number_ == 0 && buffer_.size() + wanted <= shared_.limits.unbudgeted_bytes;
  if (held_ != 0 || small) co_return StoreResult<void>();
  StoreResult<void> taken = co_await take_budget();
  if (taken) buffer_.reserve(budget_bytes_);
  co_return taken;
}

// Who has parts in flight waits for these and not for others, so no two uploads wait for each
// other.
Task<StoreResult<void>> ObjectWriter::take_budget() {
  while (held_ == 0 && in_flight_ != 0) {
    if (shared_.budget.try_take(budget_bytes_, plan_.client)) {
      held_ = budget_bytes_;
      break;
    }
    waits_for_budget_ = true;
    co_await PartEnded(*this);
    waits_for_budget_ = false;
    if (failure_) co_return std::unexpected(*failure_);
  }
  if (held_ != 0) co_return StoreResult<void>();
  const bool taken =
      co_await shared_.budget.take(budget_bytes_, plan_.client, shared_.limits.budget_wait);
  if (!taken) {
    co_return std::unexpected(
        StoreError{.kind = Kind::busy, .reason = "other uploads take all memory"});
  }
  held_ = budget_bytes_;
  co_return StoreResult<void>();
}

// --- parts ------------------------------------------------------------------------------------

Task<StoreResult<void>> ObjectWriter::begin() {
  PutOptions options{.content_type = plan_.content_type};
  StoreResult<PartsId> begun = co_await shared_.store.begin_parts(plan_.key, std::move(options));
  if (!begun) co_return std::unexpected(std::move(begun.error()));
  id_ = *std::move(begun);
  note_key_ = PartsJournal::new_key();
  co_return StoreResult<void>();
}

bool ObjectWriter::note_is_due() const noexcept {
  const std::int64_t since_ms = base::monotonic_ms() - noted_ms_;
  return noted_ms_ == 0 || since_ms >= shared_.journal.renew_s() * 1000;
}

Task<StoreResult<void>> ObjectWriter::note_progress() {
  const std::int64_t now_ms = base::monotonic_ms();
  StoreResult<void> written = co_await shared_.journal.note(note_key_, *id_);
  if (written) noted_ms_ = now_ms;
  co_return written;
}

Task<StoreResult<void>> ObjectWriter::send_part() {
  while (in_flight_ >= shared_.limits.parts_at_once) co_await PartEnded(*this);
  if (failure_) co_return std::unexpected(*failure_);
  if (number_ == PartLimits::number_max) {
    co_return std::unexpected(StoreError{.reason = "it has more parts than a store can hold"});
  }
  if (!id_) {
    StoreResult<void> begun = co_await begin();
    if (!begun) co_return begun;
  }
  if (note_is_due()) {
    StoreResult<void> noted = co_await note_progress();
    if (!noted) co_return noted;
  }
  const coro::StopState* const stop = co_await coro::OwnStop();
  if (stop != nullptr) own_stop_.work_for(stop->client());
  ++in_flight_;
  Task<void> sending =
      put_part(++number_, std::exchange(buffer_, std::string()), std::exchange(held_, 0));
  sending.inherit_stop(&own_stop_);
  group_.start(std::move(sending));
  co_return StoreResult<void>();
}

Task<void> ObjectWriter::put_part(unsigned number, std::string bytes, std::uint64_t budget) {
  std::optional<StoreError> failure;
  try {
    StoreResult<StoredPart> stored =
        co_await shared_.store.put_part(*id_, number, std::move(bytes));
    if (stored) stored_.push_back(*std::move(stored));
    else failure = std::move(stored.error());
  } catch (const std::exception& error) {
    failure = StoreError{.reason = error.what()};
  }
  if (failure && !failure_) failure_ = std::move(failure);
  --in_flight_;
  if (std::exchange(waits_for_budget_, false)) held_ = budget;
  else give_back(budget);
  if (waiter_) std::exchange(waiter_, nullptr).resume();
}

Task<StoreResult<void>> ObjectWriter::flush() {
  if (failure_) co_return std::unexpected(*failure_);
  if (buffer_.empty()) co_return StoreResult<void>();
  StoreResult<void> sent = co_await send_part();
  co_return sent;
}

// --- the end ----------------------------------------------------------------------------------

Task<StoreResult<ObjectInfo>> ObjectWriter::commit(PutOptions options) {
  const coro::StopState* const stop = co_await coro::OwnStop();
  if (stop != nullptr) own_stop_.work_for(stop->client());
  Task<StoreResult<ObjectInfo>> making = make(std::move(options));
  making.stop_by(own_stop_);
  StoreResult<ObjectInfo> made = co_await making;
  co_return made;
}

Task<StoreResult<ObjectInfo>> ObjectWriter::make(PutOptions options) {
  options.content_type = plan_.content_type;
  if (!id_) {
    StoreResult<ObjectInfo> stored = co_await put(std::move(options));
    co_return stored;
  }
  StoreResult<void> sent = co_await flush();
  co_await group_.join();
  if (sent && failure_) sent = std::unexpected(*failure_);
  if (!sent) {
    co_await discard();
    // Those would speak of a condition of the object.
    Kind& kind = sent.error().kind;
    if (kind == Kind::precondition || kind == Kind::absent) kind = Kind::failed;
    co_return std::unexpected(std::move(sent.error()));
  }
  StoreResult<ObjectInfo> made = co_await complete(std::move(options));
  if (made) made->size = size_;
  co_return made;
}

Task<StoreResult<ObjectInfo>> ObjectWriter::put(PutOptions options) {
  std::string bytes = std::exchange(buffer_, std::string());
  StoreResult<ObjectInfo> stored =
      co_await shared_.store.put(plan_.key, std::move(bytes), std::move(options));
  give_back(std::exchange(held_, 0));
  may_be_made_ = !stored && may_be_done(stored.error());
  if (stored) stored->size = size_;
  co_return stored;
}

Task<StoreResult<ObjectInfo>> ObjectWriter::complete(PutOptions options) {
  std::ranges::sort(stored_, {}, &StoredPart::number);
  options.time_max = shared_.limits.complete_max;
  StoreResult<ObjectInfo> made = co_await shared_.store.complete_parts(*id_, stored_, options);
  if (!made && may_be_done(made.error())) {
    // Perhaps only the answer was lost. The same call may succeed again.
    StoreResult<ObjectInfo> again =
        co_await shared_.store.complete_parts(*id_, stored_, std::move(options));
    if (again || again.error().kind == Kind::precondition) made = std::move(again);
  }
  may_be_made_ = !made && may_be_done(made.error());
  if (!made) {
    co_await clean();
    co_return made;
  }
  // If this fails, a sweep removes it.
  const StoreResult<void> forgotten = co_await shared_.store.remove(note_key_);
  if (forgotten) note_key_.clear();
  id_.reset();
  co_return made;
}

Task<void> ObjectWriter::discard() {
  own_stop_.stop(StopReason::aborted);
  co_await group_.join();
  buffer_ = {};
  give_back(std::exchange(held_, 0));
  co_await clean();
}

// A task of a group has no token, and that of the caller may have stopped.
Task<void> ObjectWriter::clean() {
  if (!id_) co_return;
  TaskGroup cleaning;
  cleaning.start(abandon());
  co_await cleaning.join();
  id_.reset();
}

namespace {

Task<Result<StoreResult<void>>> abandon_in_time(Store& store, PartsId parts,
                                                std::chrono::milliseconds time_max) {
  if (io::Engine::current() == nullptr) {
    StoreResult<void> gone = co_await store.abandon_parts(std::move(parts));
    co_return gone;
  }
  Result<StoreResult<void>> gone =
      co_await with_timeout(time_max, store.abandon_parts(std::move(parts)));
  co_return gone;
}

}  // namespace

Task<void> ObjectWriter::abandon() {
  try {
    const Result<StoreResult<void>> gone =
        co_await abandon_in_time(shared_.store, *id_, shared_.limits.clean_max);
    if (!gone) co_return;
    const bool absent = !*gone && gone->error().kind == Kind::absent;
    if (!*gone && !absent) co_return;  // left to a sweep, with the note
    co_await shared_.store.remove(note_key_);
  } catch (const std::exception&) {  // no memory; a sweep has the note
    co_return;
  }
}

}  // namespace h2server::content
