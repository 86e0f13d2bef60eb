#include "content/uploads/stored/parts_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "content/store/store_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::size_t note_bytes_max = 8 * 1024;

// In milliseconds: a minute, or less where parts expire sooner.
std::int64_t pause_of(std::int64_t expire_s) noexcept {
  return std::clamp<std::int64_t>(expire_s, 1, 60) * 1000;
}

// The key comes last, since it may have line ends.
std::string note_of(const PartsId& parts) { return fmt::format("{}\n{}", parts.id, parts.key); }

std::optional<PartsId> parse_note(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos || end == 0 || end + 1 == text.size()) return std::nullopt;
  return PartsId{.key = std::string(text.substr(end + 1)), .id = std::string(text.substr(0, end))};
}

}  // namespace

PartsJournal::PartsJournal(std::shared_ptr<Store> store, std::int64_t expire_s)
    : LeasedSweep(*store, sweep_lease_key, pause_of(expire_s), "parts of expired uploads"),
      store_(std::move(store)),
      expire_s_(std::max<std::int64_t>(expire_s, 1)) {}

std::string PartsJournal::new_key() {
  return fmt::format("{}{:016x}{:016x}", journal_prefix, base::random_number(),
                     base::random_number());
}

Task<StoreResult<void>> PartsJournal::note(std::string key, PartsId parts) const {
  std::string text = note_of(parts);
  const StoreResult<ObjectInfo> written =
      co_await store_->put(std::move(key), std::move(text), PutOptions());
  if (!written) co_return std::unexpected(written.error());
  co_return StoreResult<void>();
}

Task<StoreResult<void>> PartsJournal::remove_old(std::string key) const {
  const StoreResult<SmallObject> note = co_await read_small_object(*store_, key, note_bytes_max);
  if (!note && note.error().kind == Kind::absent) {
    co_return StoreResult<void>();  // its upload has just ended
  }
  if (!note) co_return std::unexpected(note.error());
  if (const std::optional<PartsId> parts = parse_note(note->bytes)) {
    const StoreResult<void> gone = co_await store_->abandon_parts(*parts);
    if (!gone && gone.error().kind != Kind::absent) co_return std::unexpected(gone.error());
  }
  StoreResult<void> removed = co_await store_->remove(std::move(key));
  co_return removed;
}

Task<StoreResult<void>> PartsJournal::abandon_old(std::int64_t now_s) const {
  ListOptions options{.prefix = std::string(journal_prefix)};
  for (;;) {
    StoreResult<ListPage> page = co_await store_->list(options);
    if (!page) co_return std::unexpected(std::move(page.error()));
    for (const ListedObject& one : page->objects) {
      if (one.modified_s == 0 || now_s - one.modified_s < expire_s_) continue;
      StoreResult<void> removed = co_await remove_old(options.prefix + one.name);
      if (!removed) co_return removed;
    }
    if (page->next.empty()) co_return StoreResult<void>();
    options.after = std::move(page->next);
  }
}

}  // namespace h2server::content
