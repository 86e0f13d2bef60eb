#include "content/uploads/area/lock_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace h2server::content {
namespace lock_table_test {

class LockTableTest : public testing::Test {
 protected:
  // Returns the token, or "" if something is in the way, whose path is then in `obstacle_`.
  std::string lock(const std::string& path, bool deep = false, bool shared = false,
                   std::uint32_t seconds = 10) {
    const auto made =
        table_.add({.path = path, .shared = shared, .deep = deep, .seconds = seconds}, now_ms_);
    obstacle_ = made ? "" : made.error().full ? "full" : "/" + made.error().path;
    return made ? made->token : std::string();
  }

  // Returns the path of the lock that forbids the change, or "-".
  std::string obstacle(const std::string& path, bool deep = false,
                       const std::vector<std::string>& tokens = {}, std::string_view user = "") {
    return table_.obstacle({.path = path, .deep = deep}, {tokens, user}, now_ms_).value_or("-");
  }

  std::string covering(const std::string& path) {
    std::string all;
    for (const Lock& lock : table_.covering(path, now_ms_)) all.append("/").append(lock.path);
    return all;
  }

  LockTable table_;
  std::int64_t now_ms_ = 1'000'000;
  std::string obstacle_;
};

TEST_F(LockTableTest, Cover) {
  EXPECT_NE(lock("a/b", true), "");
  EXPECT_NE(lock("a", false, true), "");
  EXPECT_EQ(covering("a/b"), "/a/b");
  EXPECT_EQ(covering("a/b/c/d"), "/a/b");
  EXPECT_EQ(covering("a"), "/a");
  EXPECT_EQ(covering("a/x"), "");  // a lock without depth covers the folder alone
  EXPECT_EQ(covering("a/bc"), "");
  EXPECT_EQ(covering(""), "");
  EXPECT_EQ(lock("", true, true), "");
  EXPECT_EQ(obstacle_, "/a/b");
}

TEST_F(LockTableTest, Conflict) {
  EXPECT_NE(lock("a/b"), "");
  EXPECT_EQ(lock("a/b"), "");
  EXPECT_EQ(obstacle_, "/a/b");
  EXPECT_EQ(lock("a/b", false, true), "");
  EXPECT_EQ(lock("a", true), "");
  EXPECT_EQ(obstacle_, "/a/b");
  EXPECT_EQ(lock("", true, true), "");
  EXPECT_NE(lock("a"), "");
  EXPECT_NE(lock("a/bb", true), "");
  EXPECT_EQ(lock("a/bb/c"), "");
  EXPECT_EQ(obstacle_, "/a/bb");
  EXPECT_NE(lock("s", true, true), "");
  EXPECT_NE(lock("s", true, true), "");
  EXPECT_NE(lock("s/t", false, true), "");
  EXPECT_EQ(lock("s/t"), "");
}

TEST_F(LockTableTest, ObstaclesAndTheirHolders) {
  const std::string deep = lock("a", true);
  const std::string inner = lock("b/c");
  EXPECT_EQ(obstacle("a"), "a");
  EXPECT_EQ(obstacle("a/x/y"), "a");
  EXPECT_EQ(obstacle("a/x/y", false, {deep}), "-");
  EXPECT_EQ(obstacle("a", false, {inner}), "a");
  EXPECT_EQ(obstacle("a", false, {deep}, "somebody"), "a");
  EXPECT_EQ(obstacle("b"), "-");
  EXPECT_EQ(obstacle("b", true), "b/c");
  EXPECT_EQ(obstacle("b", true, {inner}), "-");
  EXPECT_EQ(obstacle("", true, {inner}), "a");
  EXPECT_EQ(obstacle("", true, {inner, deep}), "-");
  const std::string one = lock("s", false, true);
  const std::string other = lock("s", false, true);
  EXPECT_EQ(obstacle("s"), "s");
  EXPECT_EQ(obstacle("s", false, {one}), "-");  // one of several shared locks is enough
  EXPECT_EQ(obstacle("s", true, {other}), "-");
}

TEST_F(LockTableTest, ANameOfALockedFolder) {
  const std::string folder = lock("a");
  const auto obstacle = [&](const Change& change, const std::vector<std::string>& tokens = {}) {
    return table_.obstacle(change, {tokens, ""}, now_ms_).value_or("-");
  };
  EXPECT_EQ(obstacle({.path = "a/x"}), "-");
  EXPECT_EQ(obstacle({.path = "a/x", .membership = true}), "a");
  EXPECT_EQ(obstacle({.path = "a/x", .membership = true}, {folder}), "-");
  EXPECT_EQ(obstacle({.path = "a/x/y", .membership = true}), "-");
  EXPECT_EQ(obstacle({.path = "b", .membership = true}), "-");
  lock("");
  EXPECT_EQ(obstacle({.path = "b", .membership = true}), "");
  EXPECT_EQ(obstacle({.path = "b"}), "-");
}

TEST_F(LockTableTest, End) {
  const std::string first = lock("a", false, false, 10);
  now_ms_ += 9'999;
  EXPECT_EQ(obstacle("a"), "a");
  const std::vector<std::string> tokens = {first};
  const auto refreshed = table_.refresh("a", {tokens, ""}, 20, now_ms_);
  ASSERT_TRUE(refreshed);
  EXPECT_EQ(refreshed->seconds, 20U);
  now_ms_ += 19'999;
  EXPECT_EQ(obstacle("a"), "a");
  EXPECT_EQ(lock("a"), "");
  now_ms_ += 1;
  EXPECT_EQ(obstacle("a"), "-");
  EXPECT_EQ(covering("a"), "");
  EXPECT_FALSE(table_.refresh("a", {tokens, ""}, 20, now_ms_));
  EXPECT_EQ(table_.remove("a", first, "", now_ms_), LockTable::Removal::not_found);
  EXPECT_NE(lock("a"), "");
}

TEST_F(LockTableTest, RefreshAndRemoval) {
  const auto made = table_.add({.path = "a", .deep = true, .user = "ada"}, now_ms_);
  const std::vector<std::string> tokens = {made->token};
  EXPECT_TRUE(table_.refresh("a/b", {tokens, "ada"}, 5, now_ms_));
  EXPECT_FALSE(table_.refresh("b", {tokens, "ada"}, 5, now_ms_));
  EXPECT_FALSE(table_.refresh("a", {tokens, "bob"}, 5, now_ms_));
  EXPECT_EQ(table_.remove("b", made->token, "ada", now_ms_), LockTable::Removal::not_found);
  EXPECT_EQ(table_.remove("a", "urn:uuid:x", "ada", now_ms_), LockTable::Removal::not_found);
  EXPECT_EQ(table_.remove("a", made->token, "bob", now_ms_), LockTable::Removal::not_yours);
  EXPECT_EQ(table_.remove("a/b", made->token, "ada", now_ms_), LockTable::Removal::done);
  EXPECT_EQ(obstacle("a"), "-");
}

TEST_F(LockTableTest, WhatIsGoneIsNotLocked) {
  for (const char* const path : {"a", "a/b", "a/b/c", "ab", "b"}) ASSERT_NE(lock(path), "");
  table_.forget("a");
  EXPECT_EQ(covering("a") + covering("a/b") + covering("a/b/c"), "");
  EXPECT_EQ(covering("ab") + covering("b"), "/ab/b");
  table_.forget("");
  EXPECT_EQ(covering("ab") + covering("b"), "");
}

TEST_F(LockTableTest, AreBounded) {
  for (std::size_t i = 0; i < LockLimits::locks_max; ++i) {
    ASSERT_NE(lock(std::to_string(i)), "") << i;
  }
  EXPECT_EQ(lock("more"), "");
  EXPECT_EQ(obstacle_, "full");
  table_.forget("7");
  EXPECT_NE(lock("more"), "");
  EXPECT_EQ(lock("another"), "");
  now_ms_ += 10'000;
  EXPECT_NE(lock("another"), "");
}

TEST_F(LockTableTest, NoClientGetsAll) {
  const auto add = [this](std::size_t number, const char* client) {
    return table_.add({.path = std::to_string(number), .client = client}, now_ms_).has_value();
  };
  for (std::size_t i = 0; i < LockLimits::client_max; ++i) ASSERT_TRUE(add(i, "192.0.2.1"));
  EXPECT_FALSE(add(10'000, "192.0.2.1"));
  EXPECT_TRUE(add(10'000, "192.0.2.2"));
  table_.forget("7");
  EXPECT_TRUE(add(10'001, "192.0.2.1"));
}

TEST_F(LockTableTest, TokensAreUnique) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = lock(std::to_string(i));
    EXPECT_TRUE(tokens.insert(token).second);
    ASSERT_EQ(token.size(), 45U);
    EXPECT_TRUE(token.starts_with("urn:uuid:"));
    EXPECT_EQ(token[23], '4') << token;
    EXPECT_NE(std::string("89ab").find(token[28]), std::string::npos) << token;
  }
}

}  // namespace lock_table_test
}  // namespace h2server::content
