#include "content/store_upload_objects.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "content/store_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::size_t state_bytes_max = 256 * 1024;
constexpr std::size_t tail_bytes_max = 64 * 1024 * 1024;
// The file may have been made before the time that the state has, by another clock.
constexpr std::int64_t clock_tolerance_s = 60;

// What a call that removes something may find.
StoreResult<void> or_absent(StoreResult<void> done) {
  if (!done && done.error().kind == Kind::absent) return {};
  return done;
}

void count_parts(UploadProgress& progress, const std::vector<StoredPart>& parts,
                 std::size_t part_bytes) {
  for (const StoredPart& part : parts) {
    if (part.number != progress.parts.size() + 1 || part.size != part_bytes) return;
    progress.parts.emplace(part.number, part);
    progress.parts_bytes += part.size;
  }
}

// A tail has bytes once all parts before it are durable.
bool proves_more_parts(const ListedObject& object, unsigned number) {
  return object.name.starts_with(tail_prefix) && object.name > tail_name(number) &&
         object.size > tail_head_bytes;
}

void note_tail(UploadProgress& progress, std::uint64_t object_bytes) {
  if (object_bytes < tail_head_bytes) return;
  progress.has_tail = true;
  progress.tail_bytes = object_bytes - tail_head_bytes;
}

}  // namespace

Task<StoreResult<FoundState>> read_upload_state(Store& store, std::string id) {
  StoreResult<SmallObject> object =
      co_await read_small_object(store, state_key(id), state_bytes_max);
  if (!object) co_return std::unexpected(std::move(object.error()));
  std::optional<UploadState> state = parse_upload_state(object->bytes);
  if (!state) {
    co_return std::unexpected(StoreError{.reason = "the state of upload " + id + " is none"});
  }
  co_return FoundState{.state = *std::move(state),
                       .etag = std::move(object->info.etag),
                       .modified_s = object->info.modified_s};
}

Task<StoreResult<bool>> has_upload_objects(Store& store, std::string id) {
  StoreResult<std::vector<ListedObject>> objects =
      co_await list_objects(store, store_upload_prefix(id));
  if (!objects) co_return std::unexpected(std::move(objects.error()));
  co_return std::ranges::any_of(*objects,
                                [](const ListedObject& one) { return one.name != lock_name; });
}

Task<StoreResult<UploadProgress>> read_upload_progress(Store& store, std::string id,
                                                       const FoundState& found,
                                                       std::size_t part_bytes) {
  const UploadState& state = found.state;
  UploadProgress progress{.changed_s = found.modified_s};
  StoreResult<std::vector<ListedObject>> objects =
      co_await list_objects(store, store_upload_prefix(id));
  if (!objects) co_return std::unexpected(std::move(objects.error()));
  bool listed = false;
  if (!state.parts.id.empty() && !state.stored) {
    StoreResult<std::vector<StoredPart>> parts = co_await store.list_parts(state.parts);
    if (!parts && parts.error().kind != Kind::absent) {
      co_return std::unexpected(std::move(parts.error()));
    }
    progress.parts_gone = !parts;
    listed = parts.has_value();
    if (parts) count_parts(progress, *parts, part_bytes);
  }
  const unsigned number = static_cast<unsigned>(progress.parts.size()) + 1;
  for (const ListedObject& object : *objects) {
    progress.changed_s = std::max(progress.changed_s, object.modified_s);
    if (object.name == tail_name(number)) note_tail(progress, object.size);
    if (proves_more_parts(object, number)) progress.parts_hidden = listed;
  }
  if (progress.has_tail) co_return progress;
  // While a node of MinIO is away, its lists lack objects that another node has missed, but it
  // finds them by their keys. To take such a tail for missing would put the offset below what was
  // acknowledged.
  GetOptions options;
  const StoreResult<ObjectInfo> tail =
      co_await store.head(tail_key(id, number), std::move(options));
  if (!tail && tail.error().kind != Kind::absent) co_return std::unexpected(tail.error());
  if (tail) {
    note_tail(progress, tail->size);
    progress.changed_s = std::max(progress.changed_s, tail->modified_s);
  }
  co_return progress;
}

Task<StoreResult<FoundTail>> read_upload_tail(Store& store, std::string id,
                                              UploadProgress progress) {
  const unsigned number = static_cast<unsigned>(progress.parts.size()) + 1;
  StoreResult<SmallObject> object =
      co_await read_small_object(store, tail_key(id, number), tail_bytes_max, true);
  if (!object && object.error().kind == Kind::absent) object.error().kind = Kind::busy;
  if (!object) co_return std::unexpected(std::move(object.error()));
  std::optional<Tail> tail = parse_tail(object->bytes, progress.parts_bytes);
  if (!tail) co_return std::unexpected(StoreError{.reason = "a tail of upload " + id + " is none"});
  co_return FoundTail{.tail = *std::move(tail), .etag = std::move(object->info.etag)};
}

Task<StoreResult<ObjectInfo>> find_finished_file(Store& store, UploadState state) {
  StoreResult<ObjectInfo> file = co_await store.head(state.description.name, GetOptions());
  if (!file) co_return file;
  const bool recent = file->modified_s >= state.finishing_s - clock_tolerance_s;
  if (file->size == state.description.length && recent) co_return file;
  co_return std::unexpected(StoreError{.kind = Kind::absent});
}

Task<StoreResult<void>> remove_upload_objects(Store& store, std::string id, Keep keep) {
  StoreResult<std::vector<ListedObject>> objects =
      co_await list_objects(store, store_upload_prefix(id));
  if (!objects) co_return std::unexpected(std::move(objects.error()));
  const std::string state = state_key(id);
  const std::string lock = lock_key(id);
  for (const ListedObject& object : *objects) {
    std::string key = store_upload_prefix(id) + object.name;
    if (key == state || key == lock) continue;
    StoreResult<void> removed = co_await store.remove(std::move(key));
    if (!removed) co_return removed;
  }
  if (keep == Keep::state) co_return StoreResult<void>();
  StoreResult<void> removed = co_await store.remove(state);
  co_return removed;
}

Task<StoreResult<void>> remove_upload(Store& store, std::string id, PartsId parts) {
  if (!parts.id.empty()) {
    StoreResult<void> abandoned = co_await store.abandon_parts(std::move(parts));
    abandoned = or_absent(std::move(abandoned));
    if (!abandoned) co_return abandoned;
  }
  StoreResult<void> removed = co_await remove_upload_objects(store, std::move(id), Keep::nothing);
  co_return removed;
}

}  // namespace h2server::content
