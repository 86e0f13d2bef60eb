#include "server/passwords/check_slots.h"

#include <cerrno>

#include "base/assert.h"

namespace h2server::server {

namespace {

class Leaving {
 public:
  explicit Leaving(std::atomic<std::uint32_t>& waiting) noexcept : waiting_(waiting) {}
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() { waiting_.fetch_sub(1); }

 private:
  std::atomic<std::uint32_t>& waiting_;
};

}  // namespace

CheckSlots::CheckSlots(std::uint32_t slots_max, std::uint32_t waiting_max)
    : free_(slots_max), waiting_max_(waiting_max) {
  for (std::uint32_t i = 0; i < slots_max; ++i) ASSERT(free_.try_send(Place()));
}

void CheckSlots::Release::operator()(CheckSlots* slots) const noexcept {
  ASSERT(slots->free_.try_send(Place()));  // as many places as the channel has room for
}

Task<Result<CheckSlots::Slot>> CheckSlots::take() {
  // One that gets a place at once counts for that moment.
  const bool full = waiting_.fetch_add(1) >= waiting_max_;
  if (full) {
    waiting_.fetch_sub(1);
    co_return std::unexpected(Error{EAGAIN, "check a password"});
  }
  const Leaving leaving(waiting_);  // receive() throws if the system lacks descriptors
  const Result<Place> place = co_await free_.receive();
  if (!place) co_return std::unexpected(place.error());
  co_return Slot(this);
}

}  // namespace h2server::server
