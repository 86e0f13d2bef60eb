#include "content/store/counted_store.h"

#include <utility>

namespace h2server::content {

namespace {

using Operation = StoreCounts::Operation;

constexpr std::array<std::string_view, StoreCounts::operations> operation_names = {"get",
                                                                                   "head",
                                                                                   "list",
                                                                                   "put",
                                                                                   "remove",
                                                                                   "begin_parts",
                                                                                   "put_part",
                                                                                   "list_parts",
                                                                                   "complete_parts",
                                                                                   "find_completed",
                                                                                   "abandon_parts"};

constexpr std::array<std::string_view, StoreCounts::outcomes> outcome_names = {
    "success", "absent", "not_modified", "precondition", "unsatisfiable", "denied",
    "busy",    "late",   "stopped",      "failed",       "corrupt"};
constexpr std::size_t failed_outcome = static_cast<std::size_t>(StoreError::Kind::failed) + 1;
static_assert(failed_outcome + 2 == StoreCounts::outcomes);

// A call, which counts also if it throws.
class Call {
 public:
  Call(StoreCounts& counts, Operation operation) noexcept : counts_(counts), operation_(operation) {
    counts_.begin();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { counts_.end(operation_, outcome); }

  std::size_t outcome = failed_outcome;

 private:
  StoreCounts& counts_;
  const Operation operation_;
};

}  // namespace

StoreCounts& StoreCounts::of_process() {
  static constinit StoreCounts counts;
  return counts;
}

void StoreCounts::end(Operation operation, std::size_t outcome) noexcept {
  count(operation, outcome).fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
}

std::vector<StoreCounts::Row> StoreCounts::rows() const {
  std::vector<Row> rows;
  for (std::size_t operation = 0; operation < operations; ++operation) {
    for (std::size_t outcome = 0; outcome < outcomes; ++outcome) {
      const std::uint64_t count = counts_[operation][outcome].load(std::memory_order_relaxed);
      if (count > 0) rows.push_back({operation_names[operation], outcome_names[outcome], count});
    }
  }
  return rows;
}

template <class T>
Task<StoreResult<T>> CountedStore::counted(Operation operation, Task<StoreResult<T>> asking) {
  Call call(counts_, operation);
  StoreResult<T> result = co_await asking;
  call.outcome = result ? 0 : static_cast<std::size_t>(result.error().kind) + 1;
  co_return result;
}

Task<StoreResult<OpenedObject>> CountedStore::get(std::string key, GetOptions options) {
  return counted(Operation::get, store_->get(std::move(key), std::move(options)));
}
Task<StoreResult<ObjectInfo>> CountedStore::head(std::string key, GetOptions options) {
  return counted(Operation::head, store_->head(std::move(key), std::move(options)));
}
Task<StoreResult<ListPage>> CountedStore::list(ListOptions options) {
  return counted(Operation::list, store_->list(std::move(options)));
}
Task<StoreResult<ObjectInfo>> CountedStore::put(std::string key, std::string bytes,
                                                PutOptions options) {
  return counted(Operation::put, store_->put(std::move(key), std::move(bytes), std::move(options)));
}
Task<StoreResult<void>> CountedStore::remove(std::string key) {
  return counted(Operation::remove, store_->remove(std::move(key)));
}
Task<StoreResult<PartsId>> CountedStore::begin_parts(std::string key, PutOptions options) {
  return counted(Operation::begin_parts, store_->begin_parts(std::move(key), std::move(options)));
}
Task<StoreResult<StoredPart>> CountedStore::put_part(PartsId parts, unsigned number,
                                                     std::string bytes) {
  return counted(Operation::put_part, store_->put_part(std::move(parts), number, std::move(bytes)));
}
Task<StoreResult<std::vector<StoredPart>>> CountedStore::list_parts(PartsId parts) {
  return counted(Operation::list_parts, store_->list_parts(std::move(parts)));
}
Task<StoreResult<ObjectInfo>> CountedStore::complete_parts(PartsId parts,
                                                           std::vector<StoredPart> all,
                                                           PutOptions options) {
  return counted(Operation::complete_parts,
                 store_->complete_parts(std::move(parts), std::move(all), std::move(options)));
}
Task<StoreResult<ObjectInfo>> CountedStore::find_completed(PartsId parts) {
  return counted(Operation::find_completed, store_->find_completed(std::move(parts)));
}
Task<StoreResult<void>> CountedStore::abandon_parts(PartsId parts) {
  return counted(Operation::abandon_parts, store_->abandon_parts(std::move(parts)));
}

}  // namespace h2server::content
