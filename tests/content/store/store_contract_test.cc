// MemoryStore and LocalStore keep the contract. What only LocalStore has is tested below.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "content/memory_store.h"
#include "content/store_contract.h"
#include "content/support.h"

namespace h2server {
namespace store_contract_test {

std::string name_of(const testing::TestParamInfo<tests::StoreCheck>& info) {
  return info.param.name;
}

class MemoryStoreContract : public testing::TestWithParam<tests::StoreCheck> {};

TEST_P(MemoryStoreContract, Check) {
  const auto store = std::make_shared<tests::MemoryStore>();
  tests::run_check(GetParam(), {.open = [store] { return store; }});
}

INSTANTIATE_TEST_SUITE_P(All, MemoryStoreContract, testing::ValuesIn(tests::store_checks()),
                         name_of);

class LocalStoreContract : public testing::TestWithParam<tests::StoreCheck> {};

TEST_P(LocalStoreContract, Check) {
  const tests::TemporaryDirectory directory;
  tests::run_check(GetParam(), {.open = [&] { return local_store(directory.path()); },
                                .finds_completed = false});
  // Nothing is left of what was being written.
  EXPECT_TRUE(std::filesystem::is_empty(directory.path_of(".h2server_store/received")));
}

INSTANTIATE_TEST_SUITE_P(All, LocalStoreContract, testing::ValuesIn(tests::store_checks()),
                         name_of);

// --- LocalStore alone -------------------------------------------------------------------------

StoreError::Kind kind_of_put(Store& store, const std::string& key) {
  const StoreResult<ObjectInfo> info = tests::run_now(store.put(key, "x", {}));
  EXPECT_FALSE(info) << key;
  return info ? StoreError::Kind::stopped : info.error().kind;
}

TEST(LocalStore, KeysThatItCanNotHave) {
  const tests::TemporaryDirectory directory;
  directory.write("folder/a", "");
  const auto store = local_store(directory.path());
  using enum StoreError::Kind;
  EXPECT_EQ(kind_of_put(*store, ".h2server_store/lock"), absent);
  EXPECT_EQ(kind_of_put(*store, std::string("a\0b", 3)), absent);
  EXPECT_EQ(kind_of_put(*store, "folder"), failed);
  EXPECT_EQ(kind_of_put(*store, "folder/a/b"), failed);
  EXPECT_EQ(kind_of_put(*store, "new/" + std::string(256, 'k')), failed);
  EXPECT_FALSE(std::filesystem::exists(directory.path_of("new")));
}

TEST(LocalStore, LinksDoNotLeadOut) {
  const tests::TemporaryDirectory outside;
  outside.write("a", "secret");
  const tests::TemporaryDirectory directory;
  std::filesystem::create_symlink(outside.path_of("a"), directory.path_of("link"));
  std::filesystem::create_directory_symlink(outside.path(), directory.path_of("folder"));
  const auto store = local_store(directory.path());
  EXPECT_FALSE(tests::run_now(store->head("link", {})));
  EXPECT_FALSE(tests::run_now(store->head("folder/a", {})));
  EXPECT_EQ(kind_of_put(*store, "folder/b"), StoreError::Kind::failed);
  EXPECT_FALSE(std::filesystem::exists(outside.path_of("b")));
  EXPECT_TRUE(tests::run_now(store->remove("folder/a")));
  EXPECT_TRUE(outside.read("a"));
}

TEST(LocalStore, RemovesFoldersThatHaveNoObjects) {
  const tests::TemporaryDirectory directory;
  const auto store = local_store(directory.path());
  EXPECT_TRUE(tests::run_now(store->put("a/b/c", "x", {})));
  EXPECT_TRUE(tests::run_now(store->put("a/d", "x", {})));
  EXPECT_TRUE(tests::run_now(store->remove("a/b/c")));
  EXPECT_FALSE(std::filesystem::exists(directory.path_of("a/b")));
  EXPECT_TRUE(std::filesystem::exists(directory.path_of("a/d")));
}

TEST(LocalStore, NeedsADirectory) {
  const tests::TemporaryDirectory directory;
  EXPECT_THROW(local_store(directory.path_of("none")), std::system_error);
}

}  // namespace store_contract_test
}  // namespace h2server
