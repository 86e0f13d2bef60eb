#include "content/store_contract.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "h2server/when_all.h"

namespace h2server::tests {

namespace {

using Kind = StoreError::Kind;
using Parts = std::vector<StoredPart>;

constexpr std::size_t part_bytes = PartLimits::bytes_min;

template <class T>
std::optional<Kind> kind_of(const StoreResult<T>& result) {
  if (result) return std::nullopt;
  return result.error().kind;
}

#define EXPECT_SUCCESS(result)                                                        \
  EXPECT_TRUE((result)) << "kind " << static_cast<int>((result).error().kind) << ", " \
                        << (result).error().reason
#define EXPECT_KIND(result, kind) EXPECT_EQ(kind_of(result), Kind::kind)

std::string noise(std::size_t size, unsigned seed = 1) {
  std::string bytes(size, '\0');
  std::uint32_t state = seed * 2654435761U + 1;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

// Default arguments would be temporaries in braces, which GCC 12 destroys twice in expressions with
// co_await. These functions are no coroutines.
Task<StoreResult<ObjectInfo>> put(Store& store, std::string key, std::string bytes,
                                  PutOptions options) {
  return store.put(std::move(key), std::move(bytes), std::move(options));
}
Task<StoreResult<ObjectInfo>> put(Store& store, std::string key, std::string bytes) {
  return store.put(std::move(key), std::move(bytes), PutOptions());
}
Task<StoreResult<ObjectInfo>> head(Store& store, std::string key) {
  return store.head(std::move(key), GetOptions());
}
Task<StoreResult<ObjectInfo>> complete(Store& store, PartsId parts, Parts all, PutOptions options) {
  return store.complete_parts(std::move(parts), std::move(all), std::move(options));
}
Task<StoreResult<ObjectInfo>> complete(Store& store, PartsId parts, Parts all) {
  return store.complete_parts(std::move(parts), std::move(all), PutOptions());
}

// What it has, or "?" and the error.
Task<std::string> read_range(Store& store, std::string key, std::string range) {
  GetOptions options;
  options.range = std::move(range);
  StoreResult<OpenedObject> opened = co_await store.get(std::move(key), std::move(options));
  if (!opened) {
    co_return "?" + std::to_string(static_cast<int>(opened.error().kind)) + opened.error().reason;
  }
  std::string all;
  for (;;) {
    const Result<std::string_view> piece = co_await opened->body->read();
    if (!piece) co_return "?body";
    if (piece->empty()) break;
    all += *piece;
  }
  EXPECT_EQ(all.size(), opened->count);
  co_return all;
}
Task<std::string> read(Store& store, std::string key) {
  return read_range(store, std::move(key), std::string());
}

PutOptions new_only() { return {.must_be_new = true}; }
PutOptions if_match(std::string tag) { return {.if_match = std::move(tag)}; }

Task<void> remove_one(Store& store, std::string key) {
  const StoreResult<void> removed = co_await store.remove(std::move(key));
  EXPECT_SUCCESS(removed);
}

// No list in braces stands in an expression with co_await.
Parts list_of(StoredPart first) { return {std::move(first)}; }
Parts list_of(StoredPart first, StoredPart second) { return {std::move(first), std::move(second)}; }

// Parts in the state that many checks begin with.
Task<PartsId> begin(Store& store, std::string key) {
  PutOptions options;
  StoreResult<PartsId> parts = co_await store.begin_parts(std::move(key), std::move(options));
  EXPECT_SUCCESS(parts);
  co_return parts ? *parts : PartsId();
}

Task<StoredPart> put_part(Store& store, PartsId parts, unsigned number, std::string bytes) {
  const std::size_t size = bytes.size();
  StoreResult<StoredPart> part =
      co_await store.put_part(std::move(parts), number, std::move(bytes));
  EXPECT_SUCCESS(part);
  if (!part) co_return StoredPart();
  EXPECT_EQ(part->number, number);
  EXPECT_EQ(part->size, size);
  co_return *part;
}

// --- whole objects ----------------------------------------------------------------------------

Task<void> put_and_read(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  for (const std::size_t size : {0UL, 1UL, 1000UL, 65536UL, 3000000UL}) {
    const std::string key = base + std::to_string(size);
    const std::string bytes = noise(size);
    const StoreResult<ObjectInfo> written = co_await put(*store, key, bytes);
    EXPECT_SUCCESS(written);
    const StoreResult<ObjectInfo> info = co_await head(*store, key);
    EXPECT_SUCCESS(info);
    if (!written || !info) co_return;
    EXPECT_EQ(written->size, size);
    EXPECT_EQ(info->size, size);
    EXPECT_EQ(written->etag, info->etag);
    EXPECT_TRUE(info->etag.starts_with('"') && info->etag.size() > 2) << info->etag;
    EXPECT_GT(info->modified_s, 0);
    const std::string found = co_await read(*store, key);
    EXPECT_TRUE(found == bytes) << size;
  }
}

Task<void> replace(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const StoreResult<ObjectInfo> first = co_await put(*store, base + "a", "first");
  const StoreResult<ObjectInfo> second = co_await put(*store, base + "a", "the second");
  EXPECT_SUCCESS(first);
  EXPECT_SUCCESS(second);
  if (first && second) {
    EXPECT_NE(first->etag, second->etag);
  }
  const std::string found = co_await read(*store, base + "a");
  EXPECT_EQ(found, "the second");
}

// One that reads meanwhile gets the old object or the new one.
Task<void> put_appears_whole(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::string key = base + "a";
  const std::string old_bytes = noise(2'000'000, 1);
  const std::string new_bytes = noise(3'000'000, 2);
  const StoreResult<ObjectInfo> written = co_await put(*store, key, old_bytes);
  EXPECT_SUCCESS(written);
  for (int round = 0; round < 3; ++round) {
    auto writing = put(*store, key, round % 2 == 0 ? new_bytes : old_bytes);
    auto reading = read(*store, key);
    const auto [put_info, found] = co_await when_all(std::move(writing), std::move(reading));
    EXPECT_SUCCESS(put_info);
    EXPECT_TRUE(found == old_bytes || found == new_bytes) << found.size();
  }
}

Task<void> absent(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const StoreResult<ObjectInfo> info = co_await head(*store, base + "a");
  EXPECT_KIND(info, absent);
  GetOptions options;
  const StoreResult<OpenedObject> opened = co_await store->get(base + "a", std::move(options));
  EXPECT_KIND(opened, absent);
  for (std::string key : {"", "/a", "a//b", "a/", "./a", "a/..", "\xff", "a/./b"}) {
    const StoreResult<ObjectInfo> written = co_await put(*store, key, "x");
    EXPECT_KIND(written, absent) << key;
    const StoreResult<ObjectInfo> none = co_await head(*store, key);
    EXPECT_KIND(none, absent) << key;
    PutOptions put_options;
    const StoreResult<PartsId> parts = co_await store->begin_parts(key, std::move(put_options));
    EXPECT_KIND(parts, absent) << key;
  }
  const StoreResult<ObjectInfo> long_key =
      co_await put(*store, std::string(600, 'k') + "/" + std::string(600, 'k'), "x");
  EXPECT_KIND(long_key, absent);
}

Task<void> odd_names(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::vector<std::string> names = {"a b+c=d&e.txt",
                                          "100%",
                                          "~it's(x)!,;@$*",
                                          "q?x#y",
                                          "\xc3\xbc/\xe6\x97\xa5",
                                          ".hidden",
                                          "a%2fb",
                                          "<x>&",
                                          "\"quoted\"",
                                          "[]{}|^`",
                                          "...",
                                          "a\\b",
                                          ".h2server/uploads/x",
                                          std::string(200, 'k')};
  for (const std::string& name : names) {
    const StoreResult<ObjectInfo> written = co_await put(*store, base + name, name);
    EXPECT_SUCCESS(written) << name;
  }
  for (const std::string& name : names) {
    const std::string found = co_await read(*store, base + name);
    EXPECT_EQ(found, name);
    const StoreResult<void> removed = co_await store->remove(base + name);
    EXPECT_SUCCESS(removed) << name;
    const StoreResult<ObjectInfo> none = co_await head(*store, base + name);
    EXPECT_KIND(none, absent) << name;
  }
  ListOptions options{.prefix = base};
  const StoreResult<ListPage> page = co_await store->list(std::move(options));
  EXPECT_SUCCESS(page);
  if (page) {
    EXPECT_TRUE(page->objects.empty() && page->folders.empty());
  }
}

Task<void> conditions(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const StoreResult<ObjectInfo> written = co_await put(*store, base + "a", "bytes");
  EXPECT_SUCCESS(written);
  if (!written) co_return;
  const std::string tag = written->etag;
  struct Row {
    StoreConditions conditions;
    std::optional<Kind> kind;
  };
  const std::vector<Row> rows = {{{.if_match = tag}, std::nullopt},
                                 {{.if_match = "\"other\""}, Kind::precondition},
                                 {{.if_none_match = "\"other\""}, std::nullopt},
                                 {{.if_none_match = tag}, Kind::not_modified}};
  for (const Row& row : rows) {
    GetOptions options;
    options.conditions = row.conditions;
    const StoreResult<ObjectInfo> info = co_await store->head(base + "a", options);
    EXPECT_EQ(kind_of(info), row.kind);
    const StoreResult<OpenedObject> opened = co_await store->get(base + "a", std::move(options));
    EXPECT_EQ(kind_of(opened), row.kind);
  }
}

Task<void> ranges(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::string bytes = noise(100'000);
  const StoreResult<ObjectInfo> written = co_await put(*store, base + "a", bytes);
  EXPECT_SUCCESS(written);
  struct Row {
    const char* range;
    std::size_t first;
    std::size_t count;
  };
  for (const Row& row : {Row{"bytes=0-0", 0, 1}, Row{"bytes=10-99", 10, 90},
                         Row{"bytes=99999-", 99'999, 1}, Row{"bytes=50000-", 50'000, 50'000},
                         Row{"bytes=-7", 99'993, 7}, Row{"bytes=99990-200000", 99'990, 10}}) {
    GetOptions options{.range = row.range};
    const StoreResult<OpenedObject> opened = co_await store->get(base + "a", std::move(options));
    EXPECT_SUCCESS(opened) << row.range;
    if (!opened) continue;
    EXPECT_EQ(opened->first, row.first);
    EXPECT_EQ(opened->count, row.count);
    EXPECT_EQ(opened->info.size, bytes.size());
    const std::string found = co_await read_range(*store, base + "a", row.range);
    EXPECT_TRUE(found == bytes.substr(row.first, row.count)) << row.range;
  }
  GetOptions behind{.range = "bytes=100000-"};
  const StoreResult<OpenedObject> none = co_await store->get(base + "a", std::move(behind));
  EXPECT_KIND(none, unsatisfiable);
}

Task<void> remove(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const StoreResult<ObjectInfo> written = co_await put(*store, base + "d/a", "x");
  EXPECT_SUCCESS(written);
  for (int round = 0; round < 2; ++round) {
    const StoreResult<void> removed = co_await store->remove(base + "d/a");
    EXPECT_SUCCESS(removed) << round;
  }
  const StoreResult<ObjectInfo> none = co_await head(*store, base + "d/a");
  EXPECT_KIND(none, absent);
  const StoreResult<void> never = co_await store->remove(base + "never/was");
  EXPECT_SUCCESS(never);
}

// --- conditional writes -----------------------------------------------------------------------

Task<void> must_be_new(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const StoreResult<ObjectInfo> first = co_await put(*store, base + "a", "first", new_only());
  EXPECT_SUCCESS(first);
  const StoreResult<ObjectInfo> second = co_await put(*store, base + "a", "second", new_only());
  EXPECT_KIND(second, precondition);
  // The same bytes are nevertheless another object.
  const StoreResult<ObjectInfo> same = co_await put(*store, base + "a", "first", new_only());
  EXPECT_KIND(same, precondition);
  const std::string found = co_await read(*store, base + "a");
  EXPECT_EQ(found, "first");
  co_await remove_one(*store, base + "a");
  const StoreResult<ObjectInfo> again = co_await put(*store, base + "a", "again", new_only());
  EXPECT_SUCCESS(again);
}

Task<void> must_be_new_races(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const auto other = under_test.open();
  for (int round = 0; round < 8; ++round) {
    const std::string key = base + std::to_string(round);
    auto one = put(*store, key, "one", new_only());
    auto two = put(*other, key, "two", new_only());
    auto three = put(*store, key, "one", new_only());
    const auto [first, second, third] =
        co_await when_all(std::move(one), std::move(two), std::move(three));
    EXPECT_EQ(int{first.has_value()} + int{second.has_value()} + int{third.has_value()}, 1);
    for (const auto* result : {&first, &second, &third}) {
      if (!*result) {
        EXPECT_KIND(*result, precondition) << result->error().reason;
      }
    }
    const std::string found = co_await read(*store, key);
    EXPECT_EQ(found, second ? "two" : "one");
  }
}

Task<void> put_if_match(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::string key = base + "a";
  const StoreResult<ObjectInfo> none = co_await put(*store, key, "x", if_match("\"none\""));
  EXPECT_FALSE(none);
  if (!none) {
    EXPECT_TRUE(none.error().kind == Kind::absent || none.error().kind == Kind::precondition);
  }
  const StoreResult<ObjectInfo> first = co_await put(*store, key, "first");
  EXPECT_SUCCESS(first);
  if (!first) co_return;
  const StoreResult<ObjectInfo> second = co_await put(*store, key, "second", if_match(first->etag));
  EXPECT_SUCCESS(second);
  const StoreResult<ObjectInfo> third = co_await put(*store, key, "third", if_match(first->etag));
  EXPECT_KIND(third, precondition);
  const StoreResult<ObjectInfo> odd = co_await put(*store, key, "odd", if_match("no tag"));
  EXPECT_KIND(odd, precondition);
  const std::string found = co_await read(*store, key);
  EXPECT_EQ(found, "second");
}

Task<void> put_if_match_races(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const auto other = under_test.open();
  const std::string key = base + "a";
  const StoreResult<ObjectInfo> begun = co_await put(*store, key, "begun");
  EXPECT_SUCCESS(begun);
  if (!begun) co_return;
  std::string tag = begun->etag;
  for (int round = 0; round < 8; ++round) {
    auto one = put(*store, key, "one" + std::to_string(round), if_match(tag));
    auto two = put(*other, key, "two" + std::to_string(round), if_match(tag));
    const auto [first, second] = co_await when_all(std::move(one), std::move(two));
    EXPECT_NE(first.has_value(), second.has_value()) << round;
    if (!first && !second) co_return;
    tag = first ? first->etag : second->etag;
    const StoreResult<ObjectInfo> info = co_await head(*store, key);
    EXPECT_SUCCESS(info);
    if (info) {
      EXPECT_EQ(info->etag, tag);
    }
  }
}

// --- lists ------------------------------------------------------------------------------------

Task<void> list_by_pages(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  for (const char* name : {"a", "b+ c", "d/1", "d/2", "d-x", "e/f/g", "\xc3\xbc", "z"}) {
    const StoreResult<ObjectInfo> written = co_await put(*store, base + name, name);
    EXPECT_SUCCESS(written);
  }
  for (const std::size_t entries : {1UL, 2UL, 3UL, 1000UL}) {
    std::vector<std::string> objects;
    std::vector<std::string> folders;
    ListOptions options{.prefix = base, .entries_max = entries};
    for (int pages = 0; pages < 12; ++pages) {
      const StoreResult<ListPage> page = co_await store->list(options);
      EXPECT_SUCCESS(page);
      if (!page) co_return;
      EXPECT_LE(page->objects.size() + page->folders.size(), entries);
      for (const ListedObject& object : page->objects) {
        objects.push_back(object.name);
        EXPECT_EQ(object.size, object.name.size());
        EXPECT_GT(object.modified_s, 0);
      }
      folders.insert(folders.end(), page->folders.begin(), page->folders.end());
      options.after = page->next;
      if (options.after.empty()) break;
    }
    EXPECT_EQ(options.after, "");
    EXPECT_EQ(objects, (std::vector<std::string>{"a", "b+ c", "d-x", "z", "\xc3\xbc"})) << entries;
    EXPECT_EQ(folders, (std::vector<std::string>{"d", "e"})) << entries;
  }
  ListOptions none{.prefix = base + "none/"};
  const StoreResult<ListPage> empty = co_await store->list(std::move(none));
  EXPECT_SUCCESS(empty);
  if (empty) {
    EXPECT_TRUE(empty->objects.empty() && empty->folders.empty() && empty->next.empty());
  }
}

// --- parts ------------------------------------------------------------------------------------

Task<void> parts(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::string first = noise(part_bytes, 1);
  const std::string second = noise(part_bytes + 1, 2);
  const PartsId id = co_await begin(*store, base + "a");
  EXPECT_EQ(id.key, base + "a");
  StoreResult<Parts> listed = co_await store->list_parts(id);
  EXPECT_SUCCESS(listed);
  if (listed) {
    EXPECT_TRUE(listed->empty());
  }
  // Out of order, and two at once. Numbers may be left out.
  const StoredPart last = co_await put_part(*store, id, 9, "last");
  auto one = put_part(*store, id, 1, first);
  auto two = put_part(*store, id, 2, second);
  const auto [stored_first, stored_second] = co_await when_all(std::move(one), std::move(two));
  const StoreResult<ObjectInfo> none = co_await head(*store, base + "a");
  EXPECT_KIND(none, absent);
  ListOptions list_options{.prefix = base};
  const StoreResult<ListPage> page = co_await store->list(std::move(list_options));
  EXPECT_SUCCESS(page);
  if (page) {
    EXPECT_TRUE(page->objects.empty() && page->folders.empty());
  }
  const Parts all = {stored_first, stored_second, last};
  const StoreResult<ObjectInfo> info = co_await complete(*store, id, all);
  EXPECT_SUCCESS(info);
  const std::string found = co_await read(*store, base + "a");
  EXPECT_TRUE(found == first + second + "last") << found.size();
  const StoreResult<ObjectInfo> made = co_await head(*store, base + "a");
  EXPECT_SUCCESS(made);
  if (!info || !made) co_return;
  EXPECT_EQ(info->size, found.size());
  EXPECT_EQ(info->etag, made->etag);
  listed = co_await store->list_parts(id);
  EXPECT_KIND(listed, absent);
}

Task<void> parts_of_another_process(const StoreUnderTest& under_test, std::string base) {
  PartsId id;
  StoredPart first;
  {
    const auto store = under_test.open();
    id = co_await begin(*store, base + "a");
    first = co_await put_part(*store, id, 1, noise(part_bytes));
    const StoredPart replaced = co_await put_part(*store, id, 2, "replaced");
    EXPECT_EQ(replaced.number, 2U);
  }
  const auto store = under_test.open();
  const StoredPart second = co_await put_part(*store, id, 2, "second");
  const StoreResult<Parts> listed = co_await store->list_parts(id);
  EXPECT_SUCCESS(listed);
  if (!listed) co_return;
  EXPECT_EQ(listed->size(), 2U);
  if (listed->size() != 2) co_return;
  EXPECT_EQ((*listed)[0].number, 1U);
  EXPECT_EQ((*listed)[0].size, part_bytes);
  EXPECT_EQ((*listed)[0].etag, first.etag);
  EXPECT_EQ((*listed)[1].number, 2U);
  EXPECT_EQ((*listed)[1].size, 6U);
  EXPECT_EQ((*listed)[1].etag, second.etag);
  const StoreResult<ObjectInfo> info = co_await complete(*store, id, *listed);
  EXPECT_SUCCESS(info);
  const std::string found = co_await read(*store, base + "a");
  EXPECT_TRUE(found == noise(part_bytes) + "second") << found.size();
}

Task<void> one_part(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  for (const std::string& bytes : {std::string(), std::string("x")}) {
    const PartsId id = co_await begin(*store, base + "a");
    const StoredPart part = co_await put_part(*store, id, 1, bytes);
    const StoreResult<ObjectInfo> info = co_await complete(*store, id, list_of(part));
    EXPECT_SUCCESS(info);
    const std::string found = co_await read(*store, base + "a");
    EXPECT_EQ(found, bytes);
  }
}

Task<void> small_part(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const PartsId id = co_await begin(*store, base + "a");
  const StoredPart first = co_await put_part(*store, id, 1, noise(part_bytes - 1));
  const StoredPart second = co_await put_part(*store, id, 2, "x");
  const StoreResult<ObjectInfo> info = co_await complete(*store, id, list_of(first, second));
  EXPECT_KIND(info, failed);
  const StoreResult<void> abandoned = co_await store->abandon_parts(id);
  EXPECT_SUCCESS(abandoned);
}

Task<void> wrong_parts(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const PartsId id = co_await begin(*store, base + "a");
  const StoreResult<StoredPart> zero = co_await store->put_part(id, 0, "x");
  EXPECT_KIND(zero, failed);
  const StoreResult<StoredPart> many =
      co_await store->put_part(id, PartLimits::number_max + 1, "x");
  EXPECT_KIND(many, failed);
  const StoredPart first = co_await put_part(*store, id, 1, noise(part_bytes));
  const StoredPart second = co_await put_part(*store, id, 2, "x");
  const StoredPart other{.number = 2, .size = 1, .etag = "\"00000000000000000000000000000000\""};
  const StoredPart missing{.number = 3, .size = 1, .etag = second.etag};
  const Parts backwards = {second, first};
  const Parts wrong_tag = {first, other};
  const Parts with_missing = {first, second, missing};
  for (const Parts& all : {Parts(), backwards, wrong_tag, with_missing}) {
    const StoreResult<ObjectInfo> info = co_await complete(*store, id, all);
    const Kind kind = info ? Kind::absent : info.error().kind;
    EXPECT_TRUE(kind == Kind::failed || kind == Kind::busy) << all.size();
  }
  const StoreResult<ObjectInfo> info = co_await complete(*store, id, list_of(first, second));
  EXPECT_SUCCESS(info);
}

Task<void> complete_on_taken_key(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::string key = base + "a";
  const StoreResult<ObjectInfo> taken = co_await put(*store, key, "taken");
  EXPECT_SUCCESS(taken);
  const PartsId id = co_await begin(*store, key);
  const StoredPart part = co_await put_part(*store, id, 1, "parts");
  const StoreResult<ObjectInfo> refused = co_await complete(*store, id, list_of(part), new_only());
  EXPECT_KIND(refused, precondition);
  std::string found = co_await read(*store, key);
  EXPECT_EQ(found, "taken");
  // The parts are still there.
  const StoreResult<Parts> listed = co_await store->list_parts(id);
  EXPECT_SUCCESS(listed);
  if (listed) {
    EXPECT_EQ(listed->size(), 1U);
  }
  co_await remove_one(*store, key);
  const StoreResult<ObjectInfo> info = co_await complete(*store, id, list_of(part), new_only());
  EXPECT_SUCCESS(info);
  found = co_await read(*store, key);
  EXPECT_EQ(found, "parts");
}

Task<void> complete_if_match(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const std::string key = base + "a";
  const StoreResult<ObjectInfo> first = co_await put(*store, key, "first");
  EXPECT_SUCCESS(first);
  if (!first) co_return;
  const PartsId id = co_await begin(*store, key);
  const StoredPart part = co_await put_part(*store, id, 1, "parts");
  const StoreResult<ObjectInfo> refused =
      co_await complete(*store, id, list_of(part), if_match("\"x\""));
  EXPECT_KIND(refused, precondition);
  const StoreResult<ObjectInfo> info =
      co_await complete(*store, id, list_of(part), if_match(first->etag));
  EXPECT_SUCCESS(info);
  const std::string found = co_await read(*store, key);
  EXPECT_EQ(found, "parts");
}

Task<void> complete_races(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  for (int round = 0; round < 4; ++round) {
    const std::string key = base + std::to_string(round);
    const PartsId first = co_await begin(*store, key);
    const PartsId second = co_await begin(*store, key);
    EXPECT_NE(first.id, second.id);
    const StoredPart one = co_await put_part(*store, first, 1, "one");
    const StoredPart two = co_await put_part(*store, second, 1, "two");
    const Parts all_one = {one};
    const Parts all_two = {two};
    auto completing_one = complete(*store, first, all_one, new_only());
    auto completing_two = complete(*store, second, all_two, new_only());
    const auto [info_one, info_two] =
        co_await when_all(std::move(completing_one), std::move(completing_two));
    EXPECT_NE(info_one.has_value(), info_two.has_value());
    const std::string found = co_await read(*store, key);
    EXPECT_EQ(found, info_one ? "one" : "two");
  }
}

Task<void> find_completed(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const PartsId id = co_await begin(*store, base + "a");
  const StoredPart part = co_await put_part(*store, id, 1, "own");
  const StoreResult<ObjectInfo> other = co_await put(*store, base + "a", "any");
  EXPECT_SUCCESS(other);
  const StoreResult<ObjectInfo> before = co_await store->find_completed(id);
  EXPECT_KIND(before, absent);
  const StoreResult<ObjectInfo> made = co_await complete(*store, id, list_of(part));
  EXPECT_SUCCESS(made);
  const StoreResult<ObjectInfo> found = co_await store->find_completed(id);
  EXPECT_EQ(found.has_value(), under_test.finds_completed);
  if (found && made) {
    EXPECT_EQ(found->etag, made->etag);
    EXPECT_EQ(found->size, 3U);
  }
  const StoreResult<ObjectInfo> replaced = co_await put(*store, base + "a", "any");
  EXPECT_SUCCESS(replaced);
  const StoreResult<ObjectInfo> after = co_await store->find_completed(id);
  EXPECT_KIND(after, absent);
  co_await remove_one(*store, base + "a");
  const StoreResult<ObjectInfo> removed = co_await store->find_completed(id);
  EXPECT_KIND(removed, absent);
}

Task<void> abandon(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  const PartsId id = co_await begin(*store, base + "a");
  const StoredPart part = co_await put_part(*store, id, 1, "x");
  const StoreResult<void> abandoned = co_await store->abandon_parts(id);
  EXPECT_SUCCESS(abandoned);
  const StoreResult<Parts> listed = co_await store->list_parts(id);
  EXPECT_KIND(listed, absent);
  const StoreResult<ObjectInfo> info = co_await complete(*store, id, list_of(part));
  EXPECT_KIND(info, absent);
  const StoreResult<ObjectInfo> none = co_await head(*store, base + "a");
  EXPECT_KIND(none, absent);
}

Task<void> unknown_parts(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  PartsId id = co_await begin(*store, base + "a");
  const StoredPart part = co_await put_part(*store, id, 1, "x");
  const StoreResult<void> abandoned = co_await store->abandon_parts(id);
  EXPECT_SUCCESS(abandoned);
  const StoreResult<StoredPart> after = co_await store->put_part(id, 1, "x");
  EXPECT_KIND(after, absent);
  // MinIO does not tell.
  const StoreResult<void> again = co_await store->abandon_parts(id);
  EXPECT_TRUE(again || again.error().kind == Kind::absent);
}

// With "<" and "&" in what is written as XML, and a tag in quotes.
Task<void> parts_of_odd_names(const StoreUnderTest& under_test, std::string base) {
  const auto store = under_test.open();
  for (const char* name : {"a b+c=d&e", "100%~'(x)!*", "\xc3\xbc/\xe6\x97\xa5", "q?x#y"}) {
    const PartsId id = co_await begin(*store, base + name);
    const StoredPart part = co_await put_part(*store, id, 1, name);
    const StoreResult<Parts> listed = co_await store->list_parts(id);
    EXPECT_SUCCESS(listed) << name;
    const StoreResult<ObjectInfo> info = co_await complete(*store, id, list_of(part));
    EXPECT_SUCCESS(info) << name;
    const std::string found = co_await read(*store, base + name);
    EXPECT_EQ(found, name);
  }
}

}  // namespace

const std::vector<StoreCheck>& store_checks() {
  static const std::vector<StoreCheck> checks = {
      {"put_and_read", put_and_read},
      {"replace", replace},
      {"put_appears_whole", put_appears_whole},
      {"absent", absent},
      {"odd_names", odd_names},
      {"conditions", conditions},
      {"ranges", ranges},
      {"remove", remove},
      {"must_be_new", must_be_new},
      {"must_be_new_races", must_be_new_races},
      {"put_if_match", put_if_match},
      {"put_if_match_races", put_if_match_races},
      {"list_by_pages", list_by_pages},
      {"parts", parts},
      {"parts_of_another_process", parts_of_another_process},
      {"one_part", one_part},
      {"small_part", small_part},
      {"wrong_parts", wrong_parts},
      {"complete_on_taken_key", complete_on_taken_key},
      {"complete_if_match", complete_if_match},
      {"complete_races", complete_races},
      {"find_completed", find_completed},
      {"abandon", abandon},
      {"unknown_parts", unknown_parts},
      {"parts_of_odd_names", parts_of_odd_names},
  };
  return checks;
}

}  // namespace h2server::tests
