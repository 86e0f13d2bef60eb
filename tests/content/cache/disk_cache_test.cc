#include "content/cache/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/cache/disk_fill.h"
#include "content/support.h"

namespace h2server::content {
namespace disk_cache_test {

using State = DiskFill::State;
using tests::TemporaryDirectory;

constexpr DiskCacheLimits small{.bytes_max = 80, .object_divisor = 4, .reserve_bytes = 0};

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  unsigned state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

ObjectInfo info_of(std::uint64_t size, std::string tag = "\"t\"") {
  return {.size = size, .etag = std::move(tag), .modified_s = 784111777, .content_type = "a/b"};
}

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() { open(); }

  void open(const DiskCacheLimits& limits = {.reserve_bytes = 0}) {
    cache_.reset();
    cache_ = open_another(limits);
  }
  std::shared_ptr<DiskCache> open_another(const DiskCacheLimits& limits = {.reserve_bytes = 0}) {
    auto opened = DiskCache::open(directory_.path(), limits);
    EXPECT_TRUE(opened.has_value());
    return opened.value_or(nullptr);
  }
  // Returns null if it does not begin.
  std::unique_ptr<DiskFill> begin(const std::string& key, const ObjectInfo& info) {
    return DiskFill::begin(cache_, key, info);
  }
  static State write(DiskFill& fill, std::string_view bytes) {
    State state = State::going_on;
    while (!bytes.empty() && state == State::going_on) {
      bytes = fill.take(bytes);
      if (fill.is_due()) state = fill.write();
    }
    return state;
  }
  bool put(const std::string& key, std::string_view bytes, const std::string& tag = "\"t\"") {
    const std::unique_ptr<DiskFill> fill = begin(key, info_of(bytes.size(), tag));
    return fill != nullptr && write(*fill, bytes) == State::complete;
  }
  // Returns nullopt if it is not there.
  std::optional<std::string> get(const std::string& key) {
    const std::optional<DiskCache::Opened> opened = cache_->open_object(key);
    if (!opened) return std::nullopt;
    std::string bytes(opened->content->size(), '\0');
    EXPECT_TRUE(opened->content->copy(bytes, 0, true));
    return bytes;
  }
  // Of the only object.
  std::string file() const {
    const std::vector<std::string> names = directory_.names();
    EXPECT_EQ(names.size(), 2U);
    return names.front();
  }
  void set_used(const std::string& key, std::int64_t seconds) {
    for (const std::string& name : directory_.names()) {
      std::string head = directory_.read(name).value_or("");
      if (name.ends_with(".head") && head.find("\"" + key + "\"") != head.npos) {
        directory_.set_modified(name, seconds);
      }
    }
  }

  const TemporaryDirectory directory_;
  std::shared_ptr<DiskCache> cache_;
};

TEST_F(DiskCacheTest, KeepsObjects) {
  for (const std::size_t size : {1U, 262'143U, 262'144U, 1'048'576U, 1'048'577U, 3'000'000U}) {
    const std::string bytes = noise(size);
    const std::string key = "key/" + std::to_string(size);
    EXPECT_FALSE(cache_->has(key));
    const std::unique_ptr<DiskFill> fill = begin(key, info_of(size));
    ASSERT_NE(fill, nullptr);
    EXPECT_EQ(write(*fill, std::string_view(bytes).substr(0, size - 1)), State::going_on);
    EXPECT_FALSE(cache_->has(key)) << "not before it is whole";
    EXPECT_EQ(write(*fill, std::string_view(bytes).substr(size - 1)), State::complete);
    const DiskCache::Opened written = fill->take_opened();
    EXPECT_TRUE(written.object->checked());
    for (const bool reopened : {false, true}) {
      if (reopened) open();
      ASSERT_TRUE(cache_->has(key)) << size;
      const std::optional<DiskCache::Opened> opened = cache_->open_object(key);
      ASSERT_TRUE(opened.has_value()) << size;
      EXPECT_EQ(get(key), bytes);
      EXPECT_EQ(opened->object->info().etag, "\"t\"");
      EXPECT_EQ(opened->object->info().content_type, "a/b");
      EXPECT_EQ(opened->content->version().modified_s, 784111777);
      EXPECT_EQ(opened->object->checked(), !reopened) << "what others have written is not";
    }
  }
}

// Who may read the folder need not be who may read the store.
TEST_F(DiskCacheTest, NobodyElseReadsWhatIsWritten) {
  const mode_t before = ::umask(0);
  const std::unique_ptr<DiskFill> fill = begin("a", info_of(300'000));
  ASSERT_NE(fill, nullptr);
  const auto modes = [this] {
    std::set<unsigned> all;
    for (const std::string& name : directory_.names()) {
      struct stat found{};
      EXPECT_EQ(::stat(directory_.path_of(name).c_str(), &found), 0) << name;
      all.insert(found.st_mode & 0777U);
    }
    return all;
  };
  EXPECT_EQ(write(*fill, noise(262'144)), State::going_on);
  EXPECT_EQ(modes(), std::set<unsigned>{0600U}) << "from the first byte on";
  EXPECT_EQ(write(*fill, noise(300'000).substr(262'144)), State::complete);
  EXPECT_EQ(modes(), std::set<unsigned>{0600U});
  ::umask(before);
}

TEST_F(DiskCacheTest, FilesAreForTheServerAlone) {
  const std::string folder = directory_.path_of("made/below");
  const auto made = DiskCache::open(folder);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
  ASSERT_TRUE(put("a", "bytes"));
  for (const std::string& name : directory_.names()) {
    if (name == "made") continue;
    EXPECT_EQ(std::filesystem::status(directory_.path_of(name)).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  directory_.write("file", "");
  EXPECT_FALSE(DiskCache::open(directory_.path_of("file")).has_value());
}

TEST_F(DiskCacheTest, BlocksAreChecked) {
  const std::string bytes = noise(2'500'000);
  ASSERT_TRUE(put("a", bytes));
  open();
  const std::optional<DiskCache::Opened> opened = cache_->open_object("a");
  ASSERT_TRUE(opened.has_value());
  const auto block = [&bytes](std::size_t number) {
    return bytes.substr(number * disk_block_bytes, disk_block_bytes);
  };
  EXPECT_FALSE(opened->object->check(0, block(1)));
  EXPECT_TRUE(opened->object->check(2, block(2)));
  EXPECT_TRUE(opened->object->check(0, block(0)));
  const std::optional<DiskCache::Opened> again = cache_->open_object("a");
  EXPECT_FALSE(again->object->checked());
  EXPECT_TRUE(again->object->check(1, block(1)));
  EXPECT_TRUE(again->object->checked());
  EXPECT_TRUE(opened->object->checked());
  EXPECT_TRUE(cache_->open_object("a")->object->checked());
  directory_.write(file(), bytes);
  directory_.set_modified(file(), 784111777);
  EXPECT_FALSE(cache_->open_object("a")->object->checked()) << "somebody has written to it";
}

TEST_F(DiskCacheTest, WhatItWants) {
  open(small);
  const struct {
    ObjectInfo info;
    bool wanted;
  } rows[] = {{info_of(1), true},      {info_of(20), true}, {info_of(21), false},
              {info_of(1, ""), false}, {info_of(0), false}, {{.size = 1, .etag = "\"t\""}, true}};
  for (const auto& row : rows) {
    EXPECT_EQ(cache_->wants(row.info), row.wanted) << row.info.size << row.info.etag;
  }
}

TEST_F(DiskCacheTest, VersionsTakeEachOthersPlace) {
  ASSERT_TRUE(put("a", "first"));
  ASSERT_TRUE(put("a", "second", "\"u\""));
  EXPECT_EQ(directory_.names().size(), 2U) << "the first is removed";
  EXPECT_EQ(get("a"), "second");
  EXPECT_EQ(cache_->open_object("a")->object->info().etag, "\"u\"");
  cache_->remove("a");
  EXPECT_FALSE(cache_->has("a"));
  EXPECT_EQ(directory_.names().size(), 0U);
}

TEST_F(DiskCacheTest, OneRequestWritesAnObject) {
  std::unique_ptr<DiskFill> first = begin("a", info_of(5));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(begin("a", info_of(5)), nullptr);
  EXPECT_NE(begin("b", info_of(5)), nullptr);
  first.reset();
  EXPECT_NE(begin("a", info_of(5)), nullptr) << "the first was given up";
}

TEST_F(DiskCacheTest, NothingIsLeftOfWhatWasGivenUp) {
  for (const std::string_view sent : {"", "1234", "123456"}) {
    const std::unique_ptr<DiskFill> fill = begin("a", info_of(5));
    ASSERT_NE(fill, nullptr);
    EXPECT_EQ(write(*fill, sent), sent.size() > 5 ? State::failed : State::going_on);
  }
  EXPECT_FALSE(cache_->has("a"));
  EXPECT_EQ(get("a"), std::nullopt);
  EXPECT_TRUE(put("b", "bytes"));
  EXPECT_EQ(directory_.names().size(), 2U) << "those of b";
}

TEST_F(DiskCacheTest, SweepsWhatKilledProcessesHaveLeft) {
  ASSERT_TRUE(put("a", "bytes"));
  const std::string name = file();
  directory_.write("h2_tmp_1_2_0", "half");
  std::string alone(name);
  alone[0] = alone[0] == '0' ? '1' : '0';
  directory_.write(alone + ".head", *directory_.read(name + ".head"));
  directory_.set_modified(alone + ".head", 1'000'000'000);
  std::string headless(alone);
  headless[1] = headless[1] == '0' ? '1' : '0';
  directory_.write(headless, "bytes");
  directory_.write("others", "stay");
  const std::unique_ptr<DiskFill> going_on = begin("b", info_of(5));
  open();
  const std::vector<std::string> names = directory_.names();
  EXPECT_EQ(names.size(), 4U) << "a, what is being written, and what is no business of ours";
  EXPECT_EQ(get("a"), "bytes");
  EXPECT_EQ(directory_.read("others"), "stay");
}

TEST_F(DiskCacheTest, DamagedFilesAreRemoved) {
  const std::string bytes = noise(10'000);
  const auto damage_body = [this](std::string content) { directory_.write(file(), content); };
  const auto damage_head = [this](std::string content) {
    directory_.write(file() + ".head", content);
  };
  const std::vector<std::function<void()>> damages = {
      [&] { damage_body(bytes.substr(1)); },
      [&] { damage_body(bytes + "x"); },
      [&] { damage_body(""); },
      [&] { damage_body(bytes); },  // has another time than the object
      [&] { damage_head(""); },
      [&] { damage_head(std::string(300, '\0')); },
      [&] { damage_head(to_text({.info = info_of(10'000, "\"u\""), .digests = {{}}})); },
      [&] { std::filesystem::remove(directory_.path_of(file())); },
      [&] { std::filesystem::remove(directory_.path_of(file() + ".head")); },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    ASSERT_TRUE(put("a", bytes)) << i;
    damages[i]();
    EXPECT_EQ(get("a"), std::nullopt) << i;
    EXPECT_FALSE(cache_->has("a")) << i;
    EXPECT_EQ(directory_.names().size(), 0U) << i;
  }
}

TEST_F(DiskCacheTest, LeastRecentlyUsedObjectsMakeRoom) {
  open(small);
  std::vector<std::string> dropped;
  cache_->on_drop(this, [&dropped](const std::string& key) { dropped.push_back(key); });
  const auto holds = [this] {
    std::string keys;
    for (const char key : std::string("abcdefg")) {
      if (cache_->has(std::string(1, key))) keys += key;
    }
    return keys;
  };
  for (const char* const key : {"a", "b", "c", "d"}) ASSERT_TRUE(put(key, std::string(20, 'x')));
  EXPECT_EQ(holds(), "abcd");
  static_cast<void>(cache_->note_use("a"));
  ASSERT_TRUE(put("e", std::string(20, 'x')));
  EXPECT_EQ(holds(), "acde");
  EXPECT_EQ(dropped, std::vector<std::string>{"b"});
  ASSERT_TRUE(put("f", std::string(10, 'x')));
  ASSERT_TRUE(put("g", std::string(10, 'x')));
  EXPECT_EQ(holds(), "adefg");
  EXPECT_EQ(directory_.names().size(), 10U);
}

TEST_F(DiskCacheTest, RecencyOutlivesTheProcess) {
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(put(key, std::string(20, 'x'), "\"" + std::string(key) + "\""));
  }
  set_used("a", 1'000'000'002);
  set_used("b", 1'000'000'001);
  set_used("c", 1'000'000'003);
  open({.bytes_max = 60, .object_divisor = 3, .reserve_bytes = 0});
  EXPECT_TRUE(cache_->note_use("a"));
  cache_->touch("a");
  open({.bytes_max = 60, .object_divisor = 3, .reserve_bytes = 0});
  ASSERT_TRUE(put("d", std::string(20, 'x')));
  EXPECT_FALSE(cache_->has("b"));
  ASSERT_TRUE(put("e", std::string(20, 'x')));
  EXPECT_FALSE(cache_->has("c"));
  EXPECT_TRUE(cache_->has("a"));
}

// Two processes are two caches.
TEST_F(DiskCacheTest, SeveralProcessesUseADirectory) {
  const DiskCacheLimits always{
      .bytes_max = 80, .object_divisor = 4, .reserve_bytes = 0, .scan_ms = 0, .scan_share = 0};
  open(always);
  const std::shared_ptr<DiskCache> first = cache_;
  const std::shared_ptr<DiskCache> second = open_another(always);
  const auto use = [this](const std::shared_ptr<DiskCache>& cache) { cache_ = cache; };
  std::vector<std::string> dropped;
  first->on_drop(this, [&dropped](const std::string& key) { dropped.push_back(key); });
  for (const char* const key : {"a", "b"}) ASSERT_TRUE(put(key, std::string(20, 'x')));
  use(second);
  ASSERT_TRUE(put("c", std::string(20, 'x')));
  EXPECT_EQ(get("a"), std::string(20, 'x')) << "found when c was written";
  second->remove("a");
  use(first);
  EXPECT_EQ(get("a"), std::nullopt);
  EXPECT_EQ(dropped, std::vector<std::string>{"a"});
  for (const char* const key : {"d", "e", "f"}) ASSERT_TRUE(put(key, std::string(20, 'x')));
  EXPECT_EQ(directory_.names().size(), 8U) << "all files count";
  // Both write the same version at once.
  std::unique_ptr<DiskFill> one = begin("g", info_of(20));
  use(second);
  std::unique_ptr<DiskFill> other = begin("g", info_of(20));
  ASSERT_TRUE(one != nullptr && other != nullptr);
  EXPECT_EQ(write(*one, std::string(20, 'x')), State::complete);
  EXPECT_EQ(write(*other, std::string(20, 'x')), State::complete);
  EXPECT_TRUE(one->take_opened().content->unchanged());
  EXPECT_EQ(get("g"), std::string(20, 'x'));
}

TEST_F(DiskCacheTest, LeavesFreeSpace) {
  open({.reserve_bytes = std::uint64_t{1} << 62});
  EXPECT_EQ(begin("a", info_of(5)), nullptr);
  EXPECT_EQ(directory_.names().size(), 0U);
}

TEST_F(DiskCacheTest, PausesAfterAFailure) {
  ASSERT_TRUE(put("a", "bytes"));
  std::filesystem::remove_all(directory_.path());
  EXPECT_EQ(begin("b", info_of(5)), nullptr) << "the directory is gone";
  EXPECT_EQ(get("a"), std::nullopt);
  EXPECT_FALSE(cache_->has("a"));
  std::filesystem::create_directory(directory_.path());
  open({.reserve_bytes = 0, .pause_ms = 3'600'000});
  {
    const tests::LoweredLimit none(RLIMIT_NOFILE, tests::descriptors_in_use());
    EXPECT_EQ(begin("a", info_of(5)), nullptr);
  }
  EXPECT_EQ(begin("a", info_of(5)), nullptr) << "not for an hour";
}

}  // namespace disk_cache_test
}  // namespace h2server::content
