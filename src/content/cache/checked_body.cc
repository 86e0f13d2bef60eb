#include "content/cache/checked_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>

#include "file/calls.h"
#include "io/engine.h"

namespace h2server::content {

CheckedBody::~CheckedBody() { source_.budget.give_back(room_bytes_); }

Task<Result<std::string_view>> CheckedBody::read() {
  if (rest_ == nullptr && at_ < end_) {
    auto work = [this] { return read_block(); };
    const std::optional<bool> good =
        co_await file::run_waiting(io::Engine::current(), std::move(work), file::unless_stopped);
    if (!good) co_return std::unexpected(Error{ECANCELED, "store cache"});
    if (*good) {
      const std::uint64_t count = std::min<std::uint64_t>(end_ - at_, block_.size());
      at_ += count;
      co_return block_.substr(0, static_cast<std::size_t>(count));
    }
    Result<void> asked = co_await ask_store();
    if (!asked) co_return std::unexpected(asked.error());
  }
  if (rest_ == nullptr) co_return std::string_view();
  Result<std::string_view> piece = co_await rest_->read();
  co_return piece;
}

bool CheckedBody::read_block() {
  const DiskObject& object = *DiskObject::of(*source_.file);
  if (room_ == nullptr) {
    const auto bytes = static_cast<std::size_t>(std::min(object.info().size, disk_block_bytes));
    if (!source_.budget.take(bytes)) return false;
    room_bytes_ = bytes;
    room_ = std::make_unique_for_overwrite<char[]>(bytes);
  }
  const std::uint64_t number = at_ / disk_block_bytes;
  const std::uint64_t first = number * disk_block_bytes;
  const auto size =
      static_cast<std::size_t>(std::min(object.info().size - first, disk_block_bytes));
  const std::span<char> room(room_.get(), size);
  const std::string_view bytes(room.data(), size);
  const bool good = source_.file->content().copy(room, first, true).has_value() &&
                    object.check(static_cast<std::size_t>(number), bytes);
  if (!good) source_.disk.cache->remove_damaged(source_.disk.name_of(source_.key));
  block_ = bytes.substr(static_cast<std::size_t>(at_ - first));
  return good;
}

Task<Result<void>> CheckedBody::ask_store() {
  GetOptions options;
  options.conditions.if_match = DiskObject::of(*source_.file)->info().etag;
  options.range = fmt::format("bytes={}-{}", at_, end_ - 1);
  StoreResult<OpenedObject> opened = co_await source_.store->get(source_.key, std::move(options));
  if (!opened) co_return std::unexpected(Error{EIO, "store cache"});
  if (opened->first != at_ || opened->count != end_ - at_) {
    co_return std::unexpected(Error{EPROTO, "store"});
  }
  rest_ = std::move(opened->body);
  co_return Result<void>();
}

}  // namespace h2server::content
