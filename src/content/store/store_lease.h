// StoreLease: a lock in a store that ends by itself: an object that says who has it and until when.
//
// The replicas' clocks are compared, so they must agree within a few seconds. Who has the lease
// does nothing that needs it when less than StoreLease::reserve is left.
//
// One task at a time. The store must outlive it. Destruction leaves the object: others wait for its
// time to pass.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

class StoreLease {
 public:
  // A call that needs the lease takes at most as long.
  static constexpr std::chrono::milliseconds reserve{10'000};

  StoreLease(Store& store, std::string key, std::chrono::milliseconds time);

  // Takes it if nobody has it, or its time has passed. Kind::precondition if another has it.
  Task<StoreResult<void>> take();
  // The same for one that is not given back, so it looks first. One that would last longer than
  // `believed_max` was written by a server with another clock, and counts for nothing.
  Task<StoreResult<void>> take_over(std::chrono::milliseconds believed_max);
  // Renews it if less than `reserve` and a quarter of its time are left. Kind::precondition or
  // absent if another has taken it.
  Task<StoreResult<void>> keep();
  // Others can take it at once. Without effect if it is not held any more.
  Task<void> give_back();

 private:
  [[nodiscard]] std::int64_t left_ms() const noexcept;
  Task<StoreResult<void>> write(PutOptions options);

  Store& store_;
  const std::string key_;
  const std::string owner_;
  const std::chrono::milliseconds time_;
  std::string etag_;           // empty: not held
  std::int64_t until_ms_ = 0;  // since 1970
};

}  // namespace h2server::content
