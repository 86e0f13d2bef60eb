// StoreUploadSweep: removes the resumable uploads of a store that have made no progress for a
// while, with their parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "content/store/leased_sweep.h"
#include "content/uploads/resumable/resumable_uploads.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

class StoreUploadSweep final : public LeasedSweep {
 public:
  // Uploads that one sweep looks at, since a request may wait for it. The next goes on behind them.
  static constexpr std::size_t looks_max = 100;

  // `store` and `limits` must outlive it. `part_bytes`: of all parts but the last.
  StoreUploadSweep(Store& store, const PendingLimits& limits, std::size_t part_bytes)
      : LeasedSweep(store, lease_key, limits.sweep_ms_min, "expired uploads"),
        store_(store),
        limits_(limits),
        part_bytes_(part_bytes) {}

 private:
  static constexpr std::string_view lease_key = ".h2server/sweep-uploads";

  Task<StoreResult<void>> sweep() override;
  Task<StoreResult<void>> look_at(std::string id);
  Task<StoreResult<void>> remove_expired(std::string id);
  Task<StoreResult<void>> remove_leased(std::string id);
  Task<StoreResult<void>> remove_stateless(std::string id);

  Store& store_;
  const PendingLimits& limits_;
  const std::size_t part_bytes_;
  // By the sweep that runs:
  std::string after_ = {};                          // where it goes on
  std::map<std::string, std::int64_t> due_s_ = {};  // by the id: when to look again
};

}  // namespace h2server::content
