// CountedStore: a Store that counts what another one is asked for, for metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h2server/store.h"

namespace h2server::content {

// Any thread.
class StoreCounts {
 public:
  enum class Operation : std::uint8_t {
    get,
    head,
    list,
    put,
    remove,
    begin_parts,
    put_part,
    list_parts,
    complete_parts,
    find_completed,
    abandon_parts,
  };
  static constexpr std::size_t operations = 11;
  static constexpr std::size_t outcomes = 11;  // success, each StoreError::Kind, corrupt

  // The counts of all stores of the process, also of those before a reload.
  static StoreCounts& of_process();

  void begin() noexcept { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  // `outcome`: 0 for success, else one more than the kind.
  void end(Operation operation, std::size_t outcome) noexcept;

  // A body turned out to be another one than its object's, after the call that opened it.
  void note_corrupt() noexcept {
    count(Operation::get, outcomes - 1).fetch_add(1, std::memory_order_relaxed);
  }

  // Requests to a store that are beside the calls: those that were tried again, and those that were
  // sent a second time because the first one took long; `won`: the second one was answered first.
  void note_retry() noexcept { retries_.fetch_add(1, std::memory_order_relaxed); }
  void note_hedge(bool won) noexcept {
    (won ? hedges_won_ : hedges_lost_).fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t retries() const noexcept { return load(retries_); }
  [[nodiscard]] std::uint64_t hedges(bool won) const noexcept {
    return load(won ? hedges_won_ : hedges_lost_);
  }

  struct Row {
    std::string_view operation;
    std::string_view outcome;
    std::uint64_t count = 0;
  };
  // Returns those that are not zero.
  [[nodiscard]] std::vector<Row> rows() const;
  // A body that is being read is not in flight here.
  [[nodiscard]] std::uint64_t in_flight() const noexcept { return load(in_flight_); }

 private:
  using Count = std::atomic<std::uint64_t>;

  static std::uint64_t load(const Count& count) noexcept {
    return count.load(std::memory_order_relaxed);
  }
  Count& count(Operation operation, std::size_t outcome) noexcept {
    return counts_[static_cast<std::size_t>(operation)][outcome];
  }

  std::array<std::array<Count, outcomes>, operations> counts_{};
  Count in_flight_{0};
  Count retries_{0};
  Count hedges_won_{0};
  Count hedges_lost_{0};
};

class CountedStore final : public Store {
 public:
  explicit CountedStore(std::shared_ptr<Store> store,
                        StoreCounts& counts = StoreCounts::of_process())
      : store_(std::move(store)), counts_(counts) {}

  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override;
  Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) override;
  Task<StoreResult<ListPage>> list(ListOptions options) override;
  Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes,
                                    PutOptions options) override;
  Task<StoreResult<void>> remove(std::string key) override;
  Task<StoreResult<PartsId>> begin_parts(std::string key, PutOptions options) override;
  Task<StoreResult<StoredPart>> put_part(PartsId parts, unsigned number,
                                         std::string bytes) override;
  Task<StoreResult<std::vector<StoredPart>>> list_parts(PartsId parts) override;
  Task<StoreResult<ObjectInfo>> complete_parts(PartsId parts, std::vector<StoredPart> all,
                                               PutOptions options) override;
  Task<StoreResult<ObjectInfo>> find_completed(PartsId parts) override;
  Task<StoreResult<void>> abandon_parts(PartsId parts) override;

 private:
  template <class T>
  Task<StoreResult<T>> counted(StoreCounts::Operation operation, Task<StoreResult<T>> call);

  const std::shared_ptr<Store> store_;
  StoreCounts& counts_;
};

}  // namespace h2server::content
