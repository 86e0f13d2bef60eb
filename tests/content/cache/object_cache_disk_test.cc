// An ObjectCache with a DiskCache.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "content/cache/disk_object.h"
#include "content/cache/object_cache.h"
#include "content/memory_store.h"
#include "content/support.h"

namespace h2server::content {
namespace object_cache_disk_test {

using Load = ObjectCache::Load;
using tests::run_now;

class ObjectCacheOnDisk : public testing::Test {
 protected:
  // A site with a store of its own, all of whose objects go to the disk.
  struct Site {
    explicit Site(ObjectCacheOnDisk& test, const std::string& name,
                  const ObjectCacheLimits& limits = {.fresh_ms = 3'600'000, .object_bytes_max = 0})
        : objects(store, std::make_shared<const http::MediaTypes>(), limits, test.cache_,
                  test.budget_, {.cache = test.disk_, .store = name}) {}

    void put(const std::string& key, std::string bytes) {
      store->objects[key] = {std::move(bytes), {.etag = "\"t\"", .modified_s = 784111777}};
    }
    // As a client that reads it all. Returns what is kept then.
    FileRef load(const std::string& key) {
      StoreResult<ObjectCache::Found> found = run_now(objects.find(key, Load::yes));
      if (found->file != nullptr) return std::move(found->file);
      for (;;) {
        const Result<std::string_view> piece = run_now(found->opened->body->read());
        if (!piece || piece->empty()) break;
      }
      return run_now(objects.find(key, Load::yes))->file;
    }

    const std::shared_ptr<tests::MemoryStore> store = std::make_shared<tests::MemoryStore>();
    ObjectCache objects;
  };
  static std::string bytes_of(const FileRef& file) {
    std::string bytes(file->content().size(), '\0');
    EXPECT_TRUE(file->content().copy(bytes, 0, true));
    return bytes;
  }

  const tests::TemporaryDirectory directory_;
  const std::shared_ptr<DiskCache> disk_ =
      *DiskCache::open(directory_.path(), {.bytes_max = 1000, .reserve_bytes = 0});
  file::Cache cache_{{.snapshot_age_s_min = 0}};
  CopyBudget budget_{1000};
};

TEST_F(ObjectCacheOnDisk, StoresAreApart) {
  Site one(*this, "one");
  Site other(*this, "other");
  one.put("a", "first");
  other.put("a", "second");
  const FileRef first = one.load("a");
  const FileRef second = other.load("a");
  EXPECT_EQ(bytes_of(first), "first");
  EXPECT_EQ(bytes_of(second), "second");
  EXPECT_EQ(directory_.names().size(), 4U);
  disk_->remove(DiskPlace{disk_, "one"}.name_of("a"));
  EXPECT_FALSE(one.objects.known("a"));
  EXPECT_TRUE(other.objects.known("a"));
}

// Its space would stay in use.
TEST_F(ObjectCacheOnDisk, WhatIsRemovedIsNotKeptOpen) {
  std::optional<Site> site(std::in_place, *this, "store");
  for (int i = 0; i < 20; ++i) {
    const std::string key = std::to_string(i);
    site->put(key, std::string(100, 'x'));
    ASSERT_NE(site->load(key), nullptr);
    EXPECT_EQ(site->objects.known(key).has_value(), true);
  }
  EXPECT_EQ(cache_.entries(), 10U);
  EXPECT_EQ(directory_.names().size(), 20U) << "two for each of ten";
  EXPECT_FALSE(site->objects.known("9"));
  site.reset();
  disk_->remove(DiskPlace{disk_, "store"}.name_of("15"));  // nobody is told
  EXPECT_EQ(cache_.entries(), 0U);
}

TEST_F(ObjectCacheOnDisk, WhatIsRemovedMeanwhileIsNotKept) {
  Site site(*this, "store", {.fresh_ms = 1, .object_bytes_max = 0});
  site.put("a", "content");
  ASSERT_NE(site.load("a"), nullptr);
  while (site.objects.known("a")) std::this_thread::yield();
  site.store->fails = [this](std::string_view) {
    disk_->remove(DiskPlace{disk_, "store"}.name_of("a"));
    return std::nullopt;
  };
  EXPECT_EQ(bytes_of(run_now(site.objects.find("a", Load::yes))->file), "content");
  EXPECT_EQ(cache_.entries(), 0U);
}

TEST_F(ObjectCacheOnDisk, HotObjectsAreSnapshots) {
  Site site(*this, "store", {.fresh_ms = 1, .object_bytes_max = 0});
  site.put("a", "content");
  ASSERT_NE(site.load("a"), nullptr);
  FileRef file;
  for (int i = 0; i < 10'000 && (file == nullptr || !file->content().is_snapshot()); ++i) {
    static_cast<void>(site.objects.known("a"));
    file = run_now(site.objects.find("a", Load::yes))->file;
  }
  EXPECT_TRUE(file->content().is_snapshot());
  EXPECT_EQ(bytes_of(file), "content");
  EXPECT_EQ(file->etag(), "\"t\"");
  EXPECT_NE(DiskObject::of(*file), nullptr) << "it counts as one of the disk";
  EXPECT_EQ(run_now(site.objects.find("a", Load::yes))->file, file) << "and stays";
  disk_->remove(DiskPlace{disk_, "store"}.name_of("a"));
  EXPECT_FALSE(site.objects.known("a"));
}

}  // namespace object_cache_disk_test
}  // namespace h2server::content
