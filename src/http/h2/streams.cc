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

H2Exchange& Streams::open(std::uint32_t id) {
  H2Exchange& exchange = *exchanges_.take().release();
  exchange.id = id;
  exchange.stream.state = Stream::State::open;
  H2Exchange*& bucket = buckets_[bucket_of(id)];
  exchange.stream.next_in_bucket = bucket;
  bucket = &exchange;
  ++alive_;
  return exchange;
}

H2Exchange* Streams::find(std::uint32_t id) const noexcept {
  H2Exchange* exchange = buckets_[bucket_of(id)];
  while (exchange != nullptr && exchange->id != id) exchange = exchange->stream.next_in_bucket;
  return exchange;
}

Streams::Past Streams::past(std::uint32_t id) const noexcept {
  if (id > last_id_ || id % 2 == 0) return Past::idle;  // even: server push, not used
  if (age(id) >= remembered) return Past::forgotten;
  const Memory bit = Memory{1} << age(id);
  if ((used_ & bit) == 0) return Past::skipped;
  return (reset_ & bit) != 0 ? Past::reset : Past::ended;
}

void Streams::mark_reset(std::uint32_t id) noexcept {
  if (age(id) < remembered) reset_ |= Memory{1} << age(id);
}

void Streams::close(H2Exchange& exchange) noexcept {
  ASSERT(exchange.stream.state != Stream::State::closed);
  H2Exchange** link = &buckets_[bucket_of(exchange.id)];
  while (*link != &exchange) link = &(*link)->stream.next_in_bucket;
  *link = exchange.stream.next_in_bucket;
  --alive_;
  exchange.stream.state = Stream::State::closed;
  if (exchange.stream.announced) {
    notify(exchange);
  } else {
    base::Pool<H2Exchange>::Pointer(&exchange, {&exchanges_}).reset();
  }
}

void Streams::notify(H2Exchange& exchange) noexcept {
  if (std::exchange(exchange.stream.queued, true)) return;
  exchange.stream.next_notification = nullptr;
  (last_notified_ != nullptr ? last_notified_->stream.next_notification : first_notified_) =
      &exchange;
  last_notified_ = &exchange;
}

bool Streams::next_notification(SessionEvent& event) noexcept {
  if (first_notified_ == nullptr) return false;
  H2Exchange& exchange = *first_notified_;
  first_notified_ = exchange.stream.next_notification;
  if (first_notified_ == nullptr) last_notified_ = nullptr;
  exchange.stream.queued = false;
  const bool closed = exchange.stream.state == Stream::State::closed;
  event = {closed ? SessionEvent::Kind::closed : SessionEvent::Kind::body_wanted, &exchange};
  return true;
}

}  // namespace h2server::http::h2
