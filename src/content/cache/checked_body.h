// CheckedBody: bytes of a DiskObject that this process has not checked yet.
//
// Passes on whole blocks only, once they have their digests. From the first one on that has not, or
// that can't be read, the rest comes from the store, and the file is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "content/cache/disk_cache.h"
#include "content/cache/disk_object.h"
#include "content/coding/encoded_copies.h"
#include "h2server/body.h"
#include "h2server/file.h"
#include "h2server/store.h"

namespace h2server::content {

class CheckedBody final : public BodySource {
 public:
  struct Source {
    DiskPlace disk;
    std::shared_ptr<Store> store;
    std::string key;
    FileRef file;        // of a DiskObject
    CopyBudget& budget;  // for the block in memory; without room, the store is asked
  };
  // Bytes [first, first + count) of the file.
  CheckedBody(Source source, std::uint64_t first, std::uint64_t count)
      : source_(std::move(source)), at_(first), end_(first + count) {}

  ~CheckedBody() override;

  Task<Result<std::string_view>> read() override;
  [[nodiscard]] std::size_t bytes_held() const noexcept override {
    return rest_ != nullptr ? rest_->bytes_held() : 0;  // the room has a budget of its own
  }
  void interrupt() noexcept override {
    if (rest_ != nullptr) rest_->interrupt();
  }

 private:
  // Returns false if there is no memory for it, or if it is damaged.
  [[nodiscard]] bool read_block();
  Task<Result<void>> ask_store();

  const Source source_;
  std::uint64_t at_;
  const std::uint64_t end_;
  std::size_t room_bytes_ = 0;
  std::unique_ptr<char[]> room_;      // of a block
  std::string_view block_;            // in the room: the one with the byte at `at_`
  std::unique_ptr<BodySource> rest_;  // null: the file is read
};

}  // namespace h2server::content
