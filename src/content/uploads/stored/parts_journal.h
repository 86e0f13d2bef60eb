// PartsJournal: which objects are being written in parts, noted in their store, so that what a
// killed server leaves can be found and abandoned by another. Shared by all workers.
//
// Objects below ".h2server/", which no upload can name: "parts/ID" for each upload, and "sweep",
// the lease of the server that looks for old ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "content/storage/last_sweep.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

inline constexpr std::string_view journal_prefix = ".h2server/parts/";
inline constexpr std::string_view sweep_lease_key = ".h2server/sweep";

class PartsJournal {
 public:
  // Parts without progress for `expire_s` are abandoned.
  PartsJournal(std::shared_ptr<Store> store, std::int64_t expire_s);

  // Returns the key of a new note.
  [[nodiscard]] static std::string new_key();
  // Call it again while the upload goes on, at least as often as renew_s() says.
  Task<StoreResult<void>> note(std::string key, PartsId parts) const;
  [[nodiscard]] std::int64_t renew_s() const noexcept { return expire_s_ / 4; }

  // Sweeps, but only if no other server did that lately. What fails is logged.
  Task<void> sweep_leased();
  // The same in schemes without event loops, which have no upkeep.
  Task<void> sweep_if_due();
  [[nodiscard]] std::int64_t pause_s() const noexcept;
  // Abandons the parts whose notes are older than `expire_s`, and removes these. The number of
  // notes that were removed.
  Task<StoreResult<unsigned>> sweep(std::int64_t now_s) const;

 private:
  Task<StoreResult<bool>> take_lease(std::int64_t now_s) const;
  Task<StoreResult<bool>> remove_old(std::string key) const;

  const std::shared_ptr<Store> store_;
  const std::int64_t expire_s_;
  LastSweep last_sweep_;
};

}  // namespace h2server::content
