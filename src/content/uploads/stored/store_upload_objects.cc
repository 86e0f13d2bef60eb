#include "content/uploads/stored/store_upload_objects.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "content/store/store_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::size_t state_bytes_max = 256 * 1024;
constexpr std::size_t tail_bytes_max = 64 * 1024 * 1024;

// What a call that removes something may find.
StoreResult<void> or_absent(StoreResult<void> done) {
  if (!done && done.error().kind == Kind::absent) return {};
  return done;
}

void count_parts(UploadProgress& progress, const std::vector<StoredPart>& parts,
                 std::size_t part_bytes) {
  for (const StoredPart& part : parts) {
    progress.changed_s = std::max(progress.changed_s, part.modified_s);
    if (part.number != progress.next_number() || part.size != part_bytes) continue;
    progress.parts.emplace(part.number, part);
    progress.parts_bytes += part.size;
  }
}

// What tails say of the parts, whose list may lack some, as the list of tails may:
//
// - A tail has bytes once all parts before it are durable.
// - With a digest, tail N is there before part N - 1 is, and until part N is.
bool hides_state(const std::vector<ListedObject>& objects, const UploadProgress& progress,
                 bool has_parts) {
  const unsigned number = progress.next_number();
  const auto hides = [&](const ListedObject& one) {
    if (!one.name.starts_with(tail_prefix)) return false;
    if (progress.parts_gone) return one.name > tail_name(1);
    if (!has_parts || one.name <= tail_name(number)) return false;
    return one.size > tail_head_bytes || (number > 1 && !progress.has_tail);
  };
  return std::ranges::any_of(objects, hides);
}

void note_tail(UploadProgress& progress, std::uint64_t object_bytes) {
  if (object_bytes < tail_head_bytes) return;
  progress.has_tail = true;
  progress.tail_bytes = object_bytes - tail_head_bytes;
}

}  // namespace

Task<StoreResult<FoundState>> read_upload_state(Store& store, std::string id, bool expected) {
  StoreResult<SmallObject> object =
      co_await read_small_object(store, state_key(id), state_bytes_max, expected);
  if (!object) co_return std::unexpected(std::move(object.error()));
  std::optional<UploadState> state = parse_upload_state(object->bytes);
  if (!state) {
    co_return std::unexpected(StoreError{.reason = "the state of upload " + id + " is none"});
  }
  co_return FoundState{.state = *std::move(state),
                       .etag = std::move(object->info.etag),
                       .modified_s = object->info.modified_s};
}

Task<StoreResult<ListedUpload>> list_upload(Store& store, std::string id) {
  StoreResult<std::vector<ListedObject>> objects =
      co_await list_objects(store, store_upload_prefix(id));
  if (!objects) co_return std::unexpected(std::move(objects.error()));
  ListedUpload listed;
  for (const ListedObject& object : *objects) {
    if (object.name == state_name) listed.state = true;
    if (object.name.starts_with(tail_prefix)) listed.tails = true;
  }
  co_return listed;
}

// While a node of MinIO is away, its lists lack objects that another node has missed, but it finds
// them by their keys. To take what is there for missing would put the offset below what was
// acknowledged.
Task<StoreResult<UploadProgress>> read_upload_progress(Store& store, std::string id,
                                                       const FoundState& found,
                                                       std::size_t part_bytes) {
  const UploadState& state = found.state;
  UploadProgress progress{.changed_s = found.modified_s};
  StoreResult<std::vector<ListedObject>> objects =
      co_await list_objects(store, store_upload_prefix(id));
  if (!objects) co_return std::unexpected(std::move(objects.error()));
  const bool has_parts = !state.parts.id.empty() && !state.stored;
  if (has_parts) {
    StoreResult<std::vector<StoredPart>> parts = co_await store.list_parts(state.parts);
    if (!parts && parts.error().kind != Kind::absent) {
      co_return std::unexpected(std::move(parts.error()));
    }
    progress.parts_gone = !parts;
    if (parts) count_parts(progress, *parts, part_bytes);
  }
  const unsigned number = progress.next_number();
  for (const ListedObject& object : *objects) {
    std::int64_t& changed_s = object.name == lock_name ? progress.locked_s : progress.changed_s;
    changed_s = std::max(changed_s, object.modified_s);
    if (object.name == tail_name(number)) note_tail(progress, object.size);
  }
  if (!progress.has_tail) {
    GetOptions options;
    options.expected = number > 1;
    const StoreResult<ObjectInfo> tail =
        co_await store.head(tail_key(id, number), std::move(options));
    if (!tail && tail.error().kind != Kind::absent) co_return std::unexpected(tail.error());
    if (tail) {
      note_tail(progress, tail->size);
      progress.changed_s = std::max(progress.changed_s, tail->modified_s);
    }
  }
  progress.hidden = hides_state(*objects, progress, has_parts);
  co_return progress;
}

Task<StoreResult<FoundTail>> read_upload_tail(Store& store, std::string id,
                                              UploadProgress progress) {
  const unsigned number = progress.next_number();
  StoreResult<SmallObject> object =
      co_await read_small_object(store, tail_key(id, number), tail_bytes_max, true);
  if (!object && object.error().kind == Kind::absent) object.error().kind = Kind::busy;
  if (!object) co_return std::unexpected(std::move(object.error()));
  std::optional<Tail> tail = parse_tail(object->bytes, progress.parts_bytes);
  if (!tail) co_return std::unexpected(StoreError{.reason = "a tail of upload " + id + " is none"});
  co_return FoundTail{.tail = *std::move(tail), .etag = std::move(object->info.etag)};
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
