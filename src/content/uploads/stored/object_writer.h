// ObjectWriter: writes one object into a store while its bytes come: in parts, several at once, or,
// if it is small, by one put. It appears whole or not at all.
//
// One task at a time. What it keeps in memory comes from a budget of all uploads, so that write()
// may wait, and the client with it.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "content/uploads/stored/part_budget.h"
#include "content/uploads/stored/parts_journal.h"
#include "h2server/stop.h"
#include "h2server/store.h"
#include "h2server/task.h"
#include "h2server/task_group.h"

namespace h2server::content {

struct WriterLimits {
  // Of all parts but the last. Grows for objects of a known size that need more than
  // PartLimits::number_max.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  std::uint64_t part_bytes_max = std::uint64_t{128} << 20;
  unsigned parts_at_once = 4;
  // So many bytes of an object are not taken from the budget: most are smaller, and a client that
  // sends few must not occupy the memory of a part.
  std::uint64_t unbudgeted_bytes = 256 * 1024;
  std::chrono::milliseconds budget_wait{30'000};
  std::chrono::milliseconds complete_max{120'000};  // large objects take stores long
  std::chrono::milliseconds clean_max{5'000};       // to abandon parts; else a sweep does it
};

// What the writers into one store share. All outlive them.
struct WriterParts {
  Store& store;
  PartBudget& budget;
  const PartsJournal& journal;
  WriterLimits limits = {};
};

struct ObjectPlan {
  std::string key;
  std::optional<std::uint64_t> size = {};  // if it is known
  std::string content_type = {};
  std::string client = {};  // whose share of the budget it takes
};

class ObjectWriter {
 public:
  ObjectWriter(const WriterParts& parts, ObjectPlan plan);
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;
  // commit() or discard() was called, unless there was no write().
  ~ObjectWriter();

  // Returns the largest size of an object.
  [[nodiscard]] static std::uint64_t bytes_max(const WriterLimits& limits,
                                               bool size_known) noexcept;

  // Copies the bytes. After an error, only discard() is called.
  Task<StoreResult<void>> write(std::string_view bytes);
  // Sends what is still in memory, so that the object takes none until its commit. No write()
  // follows.
  Task<StoreResult<void>> flush();
  // Makes the object, if `options` hold, also when the caller's token stops: what is made, its
  // client is told and charged. On an error nothing is left, unless the store does not answer: then
  // the object may have been made, and parts are left to a sweep.
  Task<StoreResult<ObjectInfo>> commit(PutOptions options);
  // Abandons what was sent, also when the caller's token has stopped.
  Task<void> discard();

  [[nodiscard]] const std::string& key() const noexcept { return plan_.key; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Returns true if commit() failed and the object may be there nevertheless.
  [[nodiscard]] bool may_be_made() const noexcept { return may_be_made_; }
  [[nodiscard]] std::size_t in_memory() const noexcept { return buffer_.size(); }

 private:
  class PartEnded;

  Task<StoreResult<ObjectInfo>> make(PutOptions options);
  Task<StoreResult<void>> make_room(std::size_t wanted);
  Task<StoreResult<void>> take_budget();
  Task<StoreResult<void>> send_part();
  Task<StoreResult<void>> begin();
  [[nodiscard]] bool note_is_due() const noexcept;
  Task<StoreResult<void>> note_progress();
  Task<void> put_part(unsigned number, std::string bytes, std::uint64_t budget);
  Task<StoreResult<ObjectInfo>> complete(PutOptions options);
  Task<StoreResult<ObjectInfo>> put(PutOptions options);
  Task<void> clean();
  Task<void> abandon();
  void give_back(std::uint64_t bytes);

  const WriterParts shared_;
  const ObjectPlan plan_;
  std::uint64_t part_bytes_;
  std::uint64_t budget_bytes_;  // of a buffer
  std::string buffer_;
  std::uint64_t held_ = 0;  // of the budget, for the buffer
  std::uint64_t size_ = 0;
  std::optional<PartsId> id_;  // once begun
  std::string note_key_;
  std::int64_t noted_ms_ = 0;
  unsigned number_ = 0;  // of the last part
  std::vector<StoredPart> stored_;
  std::optional<StoreError> failure_;  // of a part
  unsigned in_flight_ = 0;
  bool waits_for_budget_ = false;
  bool may_be_made_ = false;
  std::coroutine_handle<> waiter_;
  coro::StopState own_stop_;  // of parts that are sent, and of the end
  TaskGroup group_;
};

}  // namespace h2server::content
