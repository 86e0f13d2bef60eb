// PartsJournal: which objects are being written in parts, noted in their store, so that what a
// killed server leaves can be found and abandoned by another: by its sweep, which abandons parts
// without progress and removes their notes. Shared by all workers.
//
// Objects below ".h2server/", which no upload can name: "parts/ID" for each upload, and "sweep",
// the lease of the server that looks for old ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "content/store/leased_sweep.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

inline constexpr std::string_view journal_prefix = ".h2server/parts/";
inline constexpr std::string_view sweep_lease_key = ".h2server/sweep";

class PartsJournal final : public LeasedSweep {
 public:
  // Parts without progress for `expire_s` are abandoned.
  PartsJournal(std::shared_ptr<Store> store, std::int64_t expire_s);

  // Returns the key of a new note.
  [[nodiscard]] static std::string new_key();
  // Call it again while the upload goes on, at least as often as renew_s() says.
  Task<StoreResult<void>> note(std::string key, PartsId parts) const;
  [[nodiscard]] std::int64_t renew_s() const noexcept { return expire_s_ / 4; }

  // One sweep: abandons the parts whose notes are older than `expire_s`, and removes these.
  Task<StoreResult<void>> abandon_old(std::int64_t now_s) const;

 private:
  Task<StoreResult<void>> sweep() override { return abandon_old(base::unix_seconds()); }
  Task<StoreResult<void>> remove_old(std::string key) const;

  const std::shared_ptr<Store> store_;
  const std::int64_t expire_s_;
};

}  // namespace h2server::content
