// MemoryStore: a Store for tests of what uses one. Reads conditions and ranges as S3 stores do, and
// makes a new tag at every write. It never suspends. For one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/names/object_key.h"
#include "content/support.h"
#include "h2server/store.h"
#include "http/fields/ranges.h"

namespace h2server::tests {

class MemoryStore final : public Store {
 public:
  struct Object {
    std::string bytes;
    ObjectInfo info = {};  // without the size
  };

  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override {
    const std::string call = "get " + key + (options.range.empty() ? "" : " " + options.range);
    if (const auto error = note(call)) co_return std::unexpected(*error);
    const StoreResult<const Object*> found = find(key, options.conditions);
    if (!found) co_return std::unexpected(found.error());
    OpenedObject opened{.info = (*found)->info};
    const std::string& bytes = (*found)->bytes;
    opened.info.size = bytes.size();
    http::RangeChoice choice;
    if (!options.range.empty() && !ignores_ranges) {
      choice = http::choose_range(options.range, bytes.size());
    }
    if (choice.verdict == http::RangeVerdict::unsatisfiable) {
      co_return std::unexpected(StoreError{.kind = StoreError::Kind::unsatisfiable});
    }
    const bool partial = choice.verdict == http::RangeVerdict::partial;
    opened.first = partial ? choice.range.first + shift : 0;
    opened.count = partial ? choice.range.count : bytes.size();
    const std::string part = bytes.substr(opened.first, opened.count);
    opened.body = body_failure ? std::make_unique<FakeBody>(
                                     std::vector{part.substr(0, part.size() / 2)}, *body_failure)
                               : std::make_unique<FakeBody>(std::vector{part});
    co_return opened;
  }

  Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) override {
    if (const auto error = note("head " + key)) co_return std::unexpected(*error);
    const StoreResult<const Object*> found = find(key, options.conditions);
    if (!found) co_return std::unexpected(found.error());
    ObjectInfo info = (*found)->info;
    info.size = (*found)->bytes.size();
    co_return info;
  }

  Task<StoreResult<ListPage>> list(ListOptions options) override {
    if (const auto error = note("list " + options.prefix)) co_return std::unexpected(*error);
    ListPage page;
    for (const auto& [key, object] : objects) {
      if (!key.starts_with(options.prefix) || key <= options.prefix + options.after) continue;
      if (!unlisted.empty() && key.find(unlisted) != key.npos) continue;
      const std::string name = key.substr(options.prefix.size());
      const std::string folder = name.substr(0, name.find('/'));
      if (!page.folders.empty() && page.folders.back() == folder && folder != name) continue;
      if (page.objects.size() + page.folders.size() ==
          std::min(options.entries_max, page_entries)) {
        page.next = last_;
        co_return page;
      }
      last_ = folder == name ? name : folder + "/\xff";
      if (folder == name) {
        page.objects.push_back({name, object.bytes.size(), object.info.modified_s});
      } else {
        page.folders.push_back(folder);
      }
    }
    co_return page;
  }

  Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes,
                                    PutOptions options) override {
    const std::string call = "put " + key + condition_of(options);
    if (const auto error = note(call)) co_return std::unexpected(*error);
    if (!content::is_object_key(key)) co_return refused(Kind::absent);
    if (const auto error = check(key, options)) co_return std::unexpected(*error);
    const ObjectInfo info = write(key, std::move(bytes), options.content_type);
    if (const auto error = lost(call)) co_return std::unexpected(*error);
    co_return info;
  }

  Task<StoreResult<void>> remove(std::string key) override {
    const std::string call = "remove " + key;
    if (const auto error = note(call)) co_return std::unexpected(*error);
    objects.erase(key);
    if (const auto error = lost(call)) co_return std::unexpected(*error);
    co_return StoreResult<void>();
  }

  Task<StoreResult<PartsId>> begin_parts(std::string key, PutOptions options) override {
    const std::string call = "begin_parts " + key;
    if (const auto error = note(call)) co_return std::unexpected(*error);
    if (!content::is_object_key(key)) co_return refused(Kind::absent);
    const std::string id = "parts-" + std::to_string(++written_);
    begun[id] = {.key = key, .content_type = options.content_type};
    if (const auto error = lost(call)) co_return std::unexpected(*error);
    co_return PartsId{.key = std::move(key), .id = id};
  }

  Task<StoreResult<StoredPart>> put_part(PartsId parts, unsigned number,
                                         std::string bytes) override {
    const std::string call = "put_part " + parts.key + " " + std::to_string(number);
    if (const auto error = note(call)) co_return std::unexpected(*error);
    Begun* const all = find_parts(parts);
    if (all == nullptr) co_return refused(Kind::absent);
    if (number == 0 || number > PartLimits::number_max) co_return refused(Kind::failed);
    const StoredPart part{.number = number, .size = bytes.size(), .etag = new_tag()};
    all->parts[number] = {.stored = part, .bytes = std::move(bytes)};
    if (const auto error = lost(call)) co_return std::unexpected(*error);
    co_return part;
  }

  Task<StoreResult<std::vector<StoredPart>>> list_parts(PartsId parts) override {
    if (const auto error = note("list_parts " + parts.key)) co_return std::unexpected(*error);
    const Begun* const all = find_parts(parts);
    if (all == nullptr) co_return refused(Kind::absent);
    std::vector<StoredPart> listed;
    for (const auto& [number, part] : all->parts) listed.push_back(part.stored);
    co_return listed;
  }

  Task<StoreResult<ObjectInfo>> complete_parts(PartsId parts, std::vector<StoredPart> all,
                                               PutOptions options) override {
    const std::string call = "complete_parts " + parts.key + condition_of(options);
    if (const auto error = note(call)) co_return std::unexpected(*error);
    Begun* const begun_parts = find_parts(parts);
    if (begun_parts == nullptr) co_return completed_object(parts);
    std::optional<std::string> bytes = join(*begun_parts, all);
    if (!bytes) co_return refused(Kind::failed);
    if (const auto error = check(parts.key, options)) co_return std::unexpected(*error);
    const ObjectInfo info = write(parts.key, *std::move(bytes), begun_parts->content_type);
    begun.erase(parts.id);
    completed[parts.id] = info.etag;
    if (const auto error = lost(call)) co_return std::unexpected(*error);
    co_return info;
  }

  Task<StoreResult<ObjectInfo>> find_completed(PartsId parts) override {
    if (const auto error = note("find_completed " + parts.key)) co_return std::unexpected(*error);
    co_return completed_object(parts);
  }

  Task<StoreResult<void>> abandon_parts(PartsId parts) override {
    const std::string call = "abandon_parts " + parts.key;
    if (const auto error = note(call)) co_return std::unexpected(*error);
    if (find_parts(parts) == nullptr) co_return refused(Kind::absent);
    begun.erase(parts.id);
    if (const auto error = lost(call)) co_return std::unexpected(*error);
    co_return StoreResult<void>();
  }

  struct Part {
    StoredPart stored;
    std::string bytes;
  };
  struct Begun {
    std::string key;
    std::string content_type;
    std::map<unsigned, Part> parts = {};
  };
  // Gets a line of `calls`. Returns nullopt if the call is not to fail.
  using Faults = std::function<std::optional<StoreError>(std::string_view call)>;

  std::map<std::string, Object> objects;
  std::map<std::string, Begun> begun;            // by the id
  std::map<std::string, std::string> completed;  // tags of objects by the id of their parts
  // The name of the function and the key; then the range, the number of the part, or the condition:
  // "get a bytes=0-1", "put_part a 3", "put a new", "complete_parts a if \"v1\"".
  std::vector<std::string> calls = {};
  std::optional<StoreError> failure = {};  // of every call
  Faults fails = {};                       // the call is not carried out
  Faults loses = {};                       // a call that writes is carried out, and fails
  std::optional<Error> body_failure = {};  // after half of a body
  bool ignores_ranges = false;
  bool ignores_if_match = false;
  std::uint64_t shift = 0;  // sends another part than was asked for
  std::size_t page_entries = 1000;
  std::int64_t written_s = 1'700'000'000;  // the date of writes, and a second more for each
  std::string unlisted = {};               // keys with it in them are not in lists; empty: all are
  std::uint64_t part_bytes_min = PartLimits::bytes_min;

 private:
  using Kind = StoreError::Kind;

  static std::unexpected<StoreError> refused(Kind kind) {
    return std::unexpected(StoreError{.kind = kind});
  }
  static std::string condition_of(const PutOptions& options) {
    if (options.must_be_new) return " new";
    return options.if_match.empty() ? "" : " if " + options.if_match;
  }
  std::optional<StoreError> note(const std::string& call) {
    calls.push_back(call);
    if (failure) return failure;
    return fails ? fails(call) : std::nullopt;
  }
  [[nodiscard]] std::optional<StoreError> lost(const std::string& call) const {
    return loses ? loses(call) : std::nullopt;
  }
  std::string new_tag() { return "\"m" + std::to_string(++written_) + "\""; }
  [[nodiscard]] std::optional<StoreError> check(const std::string& key,
                                                const PutOptions& options) const {
    const auto found = objects.find(key);
    const bool exists = found != objects.end();
    if (options.must_be_new && exists) return StoreError{.kind = Kind::precondition};
    if (options.if_match.empty()) return std::nullopt;
    if (!exists) return StoreError{.kind = Kind::absent};
    if (found->second.info.etag == options.if_match) return std::nullopt;
    return StoreError{.kind = Kind::precondition};
  }
  ObjectInfo write(const std::string& key, std::string bytes, const std::string& content_type) {
    ObjectInfo info{.size = bytes.size(), .etag = new_tag()};
    info.modified_s = written_s + static_cast<std::int64_t>(written_);
    info.content_type = content_type;
    objects[key] = {.bytes = std::move(bytes), .info = info};
    return info;
  }
  [[nodiscard]] StoreResult<ObjectInfo> completed_object(const PartsId& parts) const {
    const auto tag = completed.find(parts.id);
    const auto object = objects.find(parts.key);
    const bool own = tag != completed.end() && object != objects.end() &&
                     object->second.info.etag == tag->second;
    if (!own) return refused(Kind::absent);
    return object->second.info;
  }
  Begun* find_parts(const PartsId& parts) {
    const auto found = begun.find(parts.id);
    return found != begun.end() && found->second.key == parts.key ? &found->second : nullptr;
  }
  // Returns nullopt if these can't be made an object.
  [[nodiscard]] std::optional<std::string> join(const Begun& all,
                                                const std::vector<StoredPart>& wanted) const {
    if (wanted.empty()) return std::nullopt;
    std::string bytes;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto part = all.parts.find(wanted[i].number);
      const bool in_order = i == 0 || wanted[i - 1].number < wanted[i].number;
      const bool last = i + 1 == wanted.size();
      if (!in_order || part == all.parts.end() || part->second.stored.etag != wanted[i].etag ||
          (!last && part->second.bytes.size() < part_bytes_min)) {
        return std::nullopt;
      }
      bytes += part->second.bytes;
    }
    return bytes;
  }
  StoreResult<const Object*> find(const std::string& key, const StoreConditions& conditions) {
    const auto found = objects.find(key);
    if (found == objects.end())
      return std::unexpected(StoreError{.kind = StoreError::Kind::absent});
    const std::string& tag = found->second.info.etag;
    if (!conditions.if_match.empty() && conditions.if_match != tag && !ignores_if_match) {
      return std::unexpected(StoreError{.kind = StoreError::Kind::precondition});
    }
    if (!conditions.if_none_match.empty() && conditions.if_none_match == tag) {
      // Some stores leave out the tag.
      return std::unexpected(StoreError{.kind = StoreError::Kind::not_modified,
                                        .info = {.modified_s = found->second.info.modified_s,
                                                 .fields = found->second.info.fields}});
    }
    return &found->second;
  }

  std::string last_;
  std::uint64_t written_ = 0;  // tags and ids that were made
};

}  // namespace h2server::tests
