#include "http/h2/streams.h"

#include <utility>

#include "base/assert.h"

namespace h2server::http::h2 {

void Streams::use(std::uint32_t id) noexcept {
  ASSERT(id > last_id_ || last_id_ == 0);
  const std::uint32_t step = last_id_ == 0 ? remembered : (id - last_id_) / 2;
  used_ = (step < remembered ? used_ << step : 0) | 1;
  reset_ = step < remembered ? reset_ << step : 0;
  last_id_ = id;
}

Transfer& Streams::open(std::uint32_t id) {
  Transfer& transfer = *transfers_.take().release();
  transfer.id = id;
  transfer.stream.state = Stream::State::open;
  Transfer*& bucket = buckets_[bucket_of(id)];
  transfer.stream.next_in_bucket = bucket;
  bucket = &transfer;
  ++alive_;
  return transfer;
}

Transfer* Streams::find(std::uint32_t id) const noexcept {
  Transfer* transfer = buckets_[bucket_of(id)];
  while (transfer != nullptr && transfer->id != id) transfer = transfer->stream.next_in_bucket;
  return transfer;
}

Streams::Past Streams::past(std::uint32_t id) const noexcept {
  if (id > last_id_ || id % 2 == 0) return Past::idle;  // even: server push, not used
  if (age(id) >= remembered) return Past::forgotten;
  const Memory bit = Memory{1} << age(id);
  if ((used_ & bit) == 0) return Past::passed_over;
  return (reset_ & bit) != 0 ? Past::reset : Past::ended;
}

void Streams::note_reset(std::uint32_t id) noexcept {
  if (age(id) < remembered) reset_ |= Memory{1} << age(id);
}

void Streams::close(Transfer& transfer) noexcept {
  ASSERT(transfer.stream.state != Stream::State::closed);
  Transfer** link = &buckets_[bucket_of(transfer.id)];
  while (*link != &transfer) link = &(*link)->stream.next_in_bucket;
  *link = transfer.stream.next_in_bucket;
  --alive_;
  transfer.stream.state = Stream::State::closed;
  if (transfer.stream.announced) {
    tell(transfer);
  } else {
    base::Pool<Transfer>::Pointer(&transfer, {&transfers_}).reset();
  }
}

void Streams::tell(Transfer& transfer) noexcept {
  if (std::exchange(transfer.stream.queued, true)) return;
  transfer.stream.next_told = nullptr;
  (last_told_ != nullptr ? last_told_->stream.next_told : first_told_) = &transfer;
  last_told_ = &transfer;
}

bool Streams::next_told(SessionEvent& event) noexcept {
  if (first_told_ == nullptr) return false;
  Transfer& transfer = *first_told_;
  first_told_ = transfer.stream.next_told;
  if (first_told_ == nullptr) last_told_ = nullptr;
  transfer.stream.queued = false;
  const bool closed = transfer.stream.state == Stream::State::closed;
  transfer.stream.taken = false;
  event = {closed ? SessionEvent::Kind::closed : SessionEvent::Kind::body_taken, &transfer};
  return true;
}

}  // namespace h2server::http::h2
