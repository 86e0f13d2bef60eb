// DiskFill: an object on its way into a DiskCache.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "content/cache/disk_cache.h"
#include "content/storage/file_digest.h"
#include "h2server/body.h"

namespace h2server::content {

class DiskFill {
 public:
  // Blocks on the disk. Returns null if the object is not to be written now: somebody else does it,
  // there is no room, or the disk fails. `info` has values of fields.
  static std::unique_ptr<DiskFill> begin(std::shared_ptr<DiskCache> cache, std::string name,
                                         ObjectInfo info);
  // For begin(), which has made the claim.
  DiskFill(std::shared_ptr<DiskCache> cache, std::string name, ObjectInfo info, DiskNames names);
  DiskFill(const DiskFill&) = delete;
  DiskFill& operator=(const DiskFill&) = delete;
  // Gives up what is not complete. Does not block.
  ~DiskFill();

  // Takes the next bytes into memory. Returns those for which there is no room before write().
  [[nodiscard]] std::string_view take(std::string_view bytes);
  // Returns true if write() is to follow: the memory is full, or has the end.
  [[nodiscard]] bool is_due() const noexcept;

  enum class State : std::uint8_t {
    going_on,
    complete,  // the object is in the cache
    failed,    // it is not: the disk fails, or there are more bytes than the object has
  };
  // Writes what has been taken. Blocks on the disk.
  State write();
  // The object that is complete.
  [[nodiscard]] DiskCache::Opened take_opened() { return std::move(*opened_); }

 private:
  // The errors are errno values.
  Result<void, int> create();
  Result<void, int> write_room();
  Result<void, int> commit();
  Result<void, int> open(base::Fd file);

  const std::shared_ptr<DiskCache> cache_;
  const std::string name_;
  const DiskNames names_;
  DiskHead head_;
  std::unique_ptr<TemporaryNames> temporary_;
  base::Fd file_;
  std::vector<std::string> files_;  // temporary ones that have not got their names
  std::unique_ptr<char[]> room_;
  std::size_t held_ = 0;       // bytes in the room
  std::uint64_t written_ = 0;  // to the file
  Sha256 digest_;              // of the block that is being written
  std::optional<DiskCache::Opened> opened_;
};

// Passes on the whole body of an object, and writes it to a DiskCache meanwhile.
class FillingBody final : public BodySource {
 public:
  // `filled` is called when the object is complete, before its last piece is passed on.
  using Filled = std::function<void(DiskCache::Opened opened)>;

  FillingBody(std::unique_ptr<BodySource> body, std::unique_ptr<DiskFill> fill, Filled filled)
      : body_(std::move(body)), fill_(std::move(fill)), filled_(std::move(filled)) {}

  Task<Result<std::string_view>> read() override;
  void interrupt() noexcept override { body_->interrupt(); }
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return body_->bytes_held(); }
  [[nodiscard]] std::span<const Field> trailers() const noexcept override {
    return body_->trailers();
  }

 private:
  Task<void> keep(std::string_view piece);

  const std::unique_ptr<BodySource> body_;
  std::unique_ptr<DiskFill> fill_;  // null: it is complete, or was given up
  const Filled filled_;
};

}  // namespace h2server::content
