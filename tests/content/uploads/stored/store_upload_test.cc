#include "content/uploads/stored/store_upload.h"

#include <gtest/gtest.h>

#include <set>

#include "content/memory_store.h"
#include "content/uploads/stored/resumable_in_store.h"

namespace h2server::content {
namespace store_upload_test {

using tests::run_now;

constexpr std::size_t part_bytes = 64;

// A store whose parts are put when the test says so.
class GatedStore final : public Store {
 public:
  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override {
    return memory.get(std::move(key), std::move(options));
  }
  Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) override {
    return memory.head(std::move(key), std::move(options));
  }
  Task<StoreResult<ListPage>> list(ListOptions options) override {
    return memory.list(std::move(options));
  }
  Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes,
                                    PutOptions options) override {
    return memory.put(std::move(key), std::move(bytes), std::move(options));
  }
  Task<StoreResult<void>> remove(std::string key) override { return memory.remove(std::move(key)); }
  Task<StoreResult<PartsId>> begin_parts(std::string key, PutOptions options) override {
    return memory.begin_parts(std::move(key), std::move(options));
  }
  Task<StoreResult<StoredPart>> put_part(PartsId parts, unsigned number,
                                         std::string bytes) override {
    coro::StoppableWait gate;
    gates[number] = &gate;
    most = std::max(most, gates.size());
    co_await gate.regardless();
    gates.erase(number);
    if (failing.contains(number)) {
      co_return std::unexpected(StoreError{.kind = StoreError::Kind::late});
    }
    StoreResult<StoredPart> part =
        co_await memory.put_part(std::move(parts), number, std::move(bytes));
    co_return part;
  }
  Task<StoreResult<std::vector<StoredPart>>> list_parts(PartsId parts) override {
    return memory.list_parts(std::move(parts));
  }
  Task<StoreResult<ObjectInfo>> complete_parts(PartsId parts, std::vector<StoredPart> all,
                                               PutOptions options) override {
    return memory.complete_parts(std::move(parts), std::move(all), std::move(options));
  }
  Task<StoreResult<ObjectInfo>> find_completed(PartsId parts) override {
    return memory.find_completed(std::move(parts));
  }
  Task<StoreResult<void>> abandon_parts(PartsId parts) override {
    return memory.abandon_parts(std::move(parts));
  }

  tests::MemoryStore memory;
  std::map<unsigned, coro::StoppableWait*> gates;  // by the part's number
  std::set<unsigned> failing;
  std::size_t most = 0;  // gates at the same time
};

class StoreUploadTest : public testing::Test {
 protected:
  StoreUploadTest() {
    store_->memory.part_bytes_min = 1;
    for (std::size_t i = 0; i < 10 * part_bytes + 5; ++i) text_ += static_cast<char>('a' + i % 26);
    options_.sizes.part_bytes = part_bytes;
    options_.limits.expire_s = 1'000'000'000;
    start(options_);
  }
  void start(const ResumableStoreOptions& options) {
    uploads_ = resumable_in_store(store_, options);
    NewUpload upload;
    upload.name = "a.txt";
    upload.length = text_.size();
    Result<std::unique_ptr<ResumableUpload>, Response> made =
        run_now(uploads_->create(std::move(upload), true));
    ASSERT_TRUE(made);
    upload_ = *std::move(made);
    ASSERT_TRUE(run_now(upload_->begin_body(text_.size(), false)));
    group_.start(send());
  }

  Task<void> send() {
    const Result<void, Response> added = co_await upload_->append(text_, nullptr);
    const std::string_view rest = {};
    Result<BodyEnd, Response> ended = co_await upload_->end_body(rest, added.has_value(), nullptr);
    status_ = ended ? 200 : ended.error().status();
    if (!added) status_ = added.error().status();
  }
  Task<void> store() {
    const Result<StoredFile, Response> stored = co_await upload_->store(std::nullopt, true);
    status_ = stored ? 201 : stored.error().status();
  }
  void open(unsigned number) { store_->gates.at(number)->complete(); }
  void open_all() {
    while (!store_->gates.empty()) open(store_->gates.rbegin()->first);
  }
  std::uint64_t offset() {
    Result<PendingStatus, Response> status = run_now(uploads_->status(upload_->id()));
    return status ? status->offset : UINT64_MAX;
  }

  std::shared_ptr<GatedStore> store_ = std::make_shared<GatedStore>();
  ResumableStoreOptions options_;
  std::shared_ptr<ResumableUploads> uploads_;
  std::unique_ptr<ResumableUpload> upload_;
  std::string text_;
  TaskGroup group_;
  int status_ = 0;  // once the body has ended
};

TEST_F(StoreUploadTest, SendsSomePartsAtTheSameTime) {
  EXPECT_EQ(store_->gates.size(), 4U);
  EXPECT_EQ(offset(), 0U);
  open(3);
  EXPECT_TRUE(store_->gates.contains(5));
  open(2);
  EXPECT_EQ(store_->gates.size(), 4U);
  EXPECT_EQ(offset(), 0U);  // the first is missing
  open(1);
  EXPECT_EQ(offset(), 3 * part_bytes);
  open_all();
  EXPECT_EQ(store_->most, 4U);
  EXPECT_EQ(group_.running(), 0U);
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(offset(), text_.size());
  group_.start(store());
  open(11);  // the last part
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(store_->memory.objects.at("a.txt").bytes, text_);
}

TEST_F(StoreUploadTest, AfterAFailureThePartsBeforeItCount) {
  store_->failing = {3};
  open(4);
  open(1);
  open(3);  // nothing more is begun
  const std::size_t left = store_->gates.size();
  open_all();
  EXPECT_LE(store_->most, 4U);
  EXPECT_LE(left, 3U);
  EXPECT_EQ(group_.running(), 0U);
  EXPECT_EQ(status_, 504);
  EXPECT_EQ(upload_->offset(), 2 * part_bytes);
  EXPECT_EQ(offset(), 2 * part_bytes);
}

TEST_F(StoreUploadTest, OneAtATimeWhenMemoryIsShort) {
  open_all();
  store_->most = 0;
  options_.sizes.unbudgeted_bytes = 0;
  options_.sizes.budget_wait = std::chrono::milliseconds(0);
  options_.budget = std::make_shared<PartBudget>(part_bytes);
  start(options_);
  EXPECT_EQ(store_->gates.size(), 1U);
  open_all();
  EXPECT_EQ(store_->most, 1U);
  EXPECT_EQ(status_, 200);
  upload_.reset();
  EXPECT_EQ(options_.budget->taken(), 0U);
}

TEST_F(StoreUploadTest, WithoutMemoryTheClientTriesAgain) {
  open_all();
  options_.sizes.unbudgeted_bytes = part_bytes / 2;
  options_.sizes.budget_wait = std::chrono::milliseconds(0);
  options_.budget = std::make_shared<PartBudget>(part_bytes);
  ASSERT_TRUE(options_.budget->try_take(1, ""));
  start(options_);
  EXPECT_EQ(status_, 503);
  EXPECT_EQ(offset(), 0U);
  // What is small needs none.
  ASSERT_TRUE(run_now(upload_->begin_body(text_.size(), false)));
  const std::string_view few = std::string_view(text_).substr(0, part_bytes / 2);
  ASSERT_TRUE(run_now(upload_->append(few, nullptr)));
  EXPECT_EQ(options_.budget->taken(), 1U);
  EXPECT_FALSE(run_now(upload_->begin_body(part_bytes, true)));
  options_.budget->give_back(1, "");
  ASSERT_TRUE(run_now(upload_->begin_body(part_bytes, true)));
  EXPECT_EQ(options_.budget->taken(), 2 * part_bytes);
  upload_.reset();
  EXPECT_EQ(options_.budget->taken(), 0U);
}

}  // namespace store_upload_test
}  // namespace h2server::content
