#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "content/store/local_objects.h"
#include "content/store/local_parts.h"
#include "file/calls.h"
#include "file/whole_file.h"
#include "h2server/store.h"
#include "http/fields/ranges.h"
#include "io/engine.h"

namespace h2server {

namespace {

using content::LocalObjects;
using content::LocalParts;
using Kind = StoreError::Kind;

constexpr std::size_t piece_bytes_max = 256 * 1024;

// Makes the call on a file thread.
template <class Work>
Task<std::invoke_result_t<Work&>> run(Work work, file::WaitingOptions options = {}) {
  using Outcome = std::invoke_result_t<Work&>;
  std::optional<Outcome> outcome =
      co_await file::run_waiting(io::Engine::current(), std::move(work), options);
  if (!outcome) co_return std::unexpected(StoreError{.kind = Kind::stopped});
  co_return *std::move(outcome);
}

// Of a file that is not written any more: a new object is another file.
class FileBody final : public BodySource {
 public:
  FileBody(base::Fd file, std::uint64_t first, std::uint64_t count)
      : file_(std::move(file)),
        at_(first),
        end_(first + count),
        room_(static_cast<std::size_t>(std::min<std::uint64_t>(count, piece_bytes_max))),
        piece_(std::make_unique<char[]>(room_)) {}

  Task<Result<std::string_view>> read() override {
    if (at_ == end_) co_return std::string_view();
    auto work = [this] { return read_piece(); };
    const std::optional<ssize_t> count =
        co_await file::run_waiting(io::Engine::current(), std::move(work));
    if (!count) co_return std::unexpected(Error{ECANCELED, "store"});
    if (*count <= 0) co_return std::unexpected(Error{EIO, "store"});  // 0: somebody has cut it
    at_ += static_cast<std::uint64_t>(*count);
    co_return std::string_view(piece_.get(), static_cast<std::size_t>(*count));
  }

 private:
  [[nodiscard]] ssize_t read_piece() const {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end_ - at_, room_));
    ssize_t count = 0;
    do {
      count = ::pread(file_.get(), piece_.get(), wanted, static_cast<off_t>(at_));
    } while (count < 0 && errno == EINTR);
    return count;
  }

  const base::Fd file_;
  std::uint64_t at_;
  const std::uint64_t end_;
  const std::size_t room_;
  const std::unique_ptr<char[]> piece_;
};

class LocalStore final : public Store {
 public:
  LocalStore(std::unique_ptr<LocalObjects> objects, std::unique_ptr<LocalParts> parts)
      : objects_(std::move(objects)), parts_(std::move(parts)) {}

  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override {
    auto work = [&] { return objects_->open_object(key, options.conditions); };
    StoreResult<LocalObjects::Opened> opened = co_await run(std::move(work));
    if (!opened) co_return std::unexpected(std::move(opened.error()));
    OpenedObject object{.info = std::move(opened->info)};
    object.count = object.info.size;
    if (!options.range.empty()) {
      const http::RangeChoice choice = http::choose_range(options.range, object.info.size);
      if (choice.verdict == http::RangeVerdict::unsatisfiable) {
        co_return std::unexpected(
            StoreError{.kind = Kind::unsatisfiable, .info = std::move(object.info)});
      }
      if (choice.verdict == http::RangeVerdict::partial) {
        object.first = choice.range.first;
        object.count = choice.range.count;
      }
    }
    object.body = std::make_unique<FileBody>(std::move(opened->file), object.first, object.count);
    co_return object;
  }

  Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) override {
    auto work = [&] { return objects_->open_object(key, options.conditions); };
    StoreResult<LocalObjects::Opened> opened = co_await run(std::move(work));
    if (!opened) co_return std::unexpected(std::move(opened.error()));
    co_return std::move(opened->info);
  }

  Task<StoreResult<ListPage>> list(ListOptions options) override {
    auto work = [&] { return objects_->list(options); };
    StoreResult<ListPage> page = co_await run(std::move(work));
    co_return page;
  }

  Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes,
                                    PutOptions options) override {
    auto work = [&] {
      return objects_->put(key, options, [&](int file) -> StoreResult<void> {
        const Result<void, int> written = file::write_all(file, bytes);
        if (!written) return std::unexpected(content::write_failure(written.error()));
        return {};
      });
    };
    StoreResult<ObjectInfo> info = co_await run(std::move(work));
    co_return info;
  }

  Task<StoreResult<void>> remove(std::string key) override {
    auto work = [&] { return objects_->remove(key); };
    StoreResult<void> removed = co_await run(std::move(work));
    co_return removed;
  }

  Task<StoreResult<PartsId>> begin_parts(std::string key, PutOptions /*options*/) override {
    auto work = [&] { return parts_->begin(key); };
    StoreResult<PartsId> parts = co_await run(std::move(work));
    co_return parts;
  }

  Task<StoreResult<StoredPart>> put_part(PartsId parts, unsigned number,
                                         std::string bytes) override {
    auto work = [&] { return parts_->put(parts, number, bytes); };
    StoreResult<StoredPart> part = co_await run(std::move(work));
    co_return part;
  }

  Task<StoreResult<std::vector<StoredPart>>> list_parts(PartsId parts) override {
    auto work = [&] { return parts_->list(parts); };
    StoreResult<std::vector<StoredPart>> all = co_await run(std::move(work));
    co_return all;
  }

  Task<StoreResult<ObjectInfo>> complete_parts(PartsId parts, std::vector<StoredPart> all,
                                               PutOptions options) override {
    auto work = [&] { return parts_->complete(parts, all, options); };
    StoreResult<ObjectInfo> info = co_await run(std::move(work), {.takes_long = true});
    co_return info;
  }

  Task<StoreResult<void>> abandon_parts(PartsId parts) override {
    auto work = [&] { return parts_->abandon(parts); };
    StoreResult<void> abandoned = co_await run(std::move(work));
    co_return abandoned;
  }

 private:
  const std::unique_ptr<LocalObjects> objects_;
  const std::unique_ptr<LocalParts> parts_;  // uses `objects_`
};

}  // namespace

std::shared_ptr<Store> local_store(const std::string& directory) {
  const auto check = [&directory](int code) {
    if (code == 0) return;
    throw std::system_error(code, std::generic_category(), "can't open " + directory);
  };
  auto objects = LocalObjects::open(directory);
  check(objects ? 0 : objects.error());
  auto parts = LocalParts::open(**objects);
  check(parts ? 0 : parts.error());
  return std::make_shared<LocalStore>(*std::move(objects), *std::move(parts));
}

}  // namespace h2server
