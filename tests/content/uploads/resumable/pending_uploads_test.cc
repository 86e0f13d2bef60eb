#include "content/uploads/resumable/pending_uploads.h"

#include <array>

#include "base/clock.h"
#include "content/support.h"
#include "file/stop_flag.h"
#include "h2server/stop.h"

namespace h2server::content {
namespace pending_uploads_test {

using Names = std::vector<std::string>;
using Opened = Result<std::unique_ptr<PendingUpload>, Response>;

const std::string id_a(32, 'a');
const std::string id_b(32, 'b');

class Pending : public testing::Test {
 protected:
  std::shared_ptr<PendingUploads> open(UploadOptions options = {}, PendingLimits limits = {}) {
    auto directory = UploadDirectory::open(directory_.fd());
    return std::make_shared<PendingUploads>(*directory, options, limits);
  }
  // Makes an upload of `length` bytes that has `bytes` of them. Returns its id.
  static std::string make(PendingUploads& store, const std::string& name, std::uint64_t length,
                          const std::string& bytes) {
    NewUpload wanted;
    wanted.name = name;
    wanted.length = length;
    Opened made = store.create(std::move(wanted), store.options().overwrite);
    if (!made) {
      ADD_FAILURE() << tests::body_of(made.error());
      return {};
    }
    EXPECT_TRUE((*made)->append(bytes));
    return (*made)->id();
  }
  template <class T>
  static int status_of(const Result<T, Response>& result) {
    return result ? 200 : result.error().status();
  }
  void age(const std::string& name, std::int64_t seconds) const {
    directory_.set_modified(name, base::unix_seconds() - seconds);
  }
  static std::string bytes_of(const std::string& id) { return "h2_tmp_upload_" + id; }
  static std::string info_of(const std::string& id) { return "h2_tmp_upload_" + id + ".info"; }

  tests::TemporaryDirectory directory_;
};

// A resumable upload names no lock.
TEST_F(Pending, WhatIsLockedIsNotReplaced) {
  struct Row {
    const char* name;
    int status;
  };
  const std::vector<Row> rows = {{"locked", 423},   {"free", 200},      {"box/old", 200},
                                 {"box/new", 423},  {"deep/old", 423},  {"deep/new", 423},
                                 {"deep/a/b", 423}, {"box/a/new", 200}, {"box/b/new", 423},
                                 {"unlocked", 200}};
  for (const char* const name : {"locked", "free", "box/old", "box/a/old", "deep/old"}) {
    directory_.write(name, "mine");
  }
  const std::shared_ptr<UploadDirectory> directory = UploadDirectory::open(directory_.fd()).value();
  const std::int64_t now_ms = base::monotonic_ms();
  ASSERT_TRUE(directory->locks().add({.path = "locked"}, now_ms));
  ASSERT_TRUE(directory->locks().add({.path = "box"}, now_ms));
  ASSERT_TRUE(directory->locks().add({.path = "deep", .deep = true}, now_ms));
  PendingUploads store(directory, {.overwrite = true, .folders = true}, {});
  for (const Row& row : rows) {
    NewUpload wanted;
    wanted.name = row.name;
    wanted.length = 1;
    EXPECT_EQ(status_of(store.create(std::move(wanted), true)), row.status) << row.name;
  }
  // Locked while it was sent.
  const std::string id = make(store, "free", 1, "x");
  const auto locked = directory->locks().add({.path = "free"}, now_ms);
  ASSERT_TRUE(locked);
  {
    const auto refused = store.open(id);
    ASSERT_TRUE(refused);
    EXPECT_EQ(status_of((*refused)->store(std::nullopt, true)), 423);
  }
  EXPECT_EQ(directory_.read("free"), "mine");
  EXPECT_EQ(directory->locks().remove("free", locked->token, "", now_ms), LockTable::Removal::done);
  const auto again = store.open(id);
  ASSERT_TRUE(again);
  EXPECT_EQ(status_of((*again)->store(std::nullopt, true)), 200);
  EXPECT_EQ(directory_.read("free"), "x");
}

// --- files --------------------------------------------------------------------------------------

TEST(PendingDescription, JsonAndBack) {
  PendingDescription all;
  all.length = UINT64_MAX;
  all.name = "a \"b\"\\c/\xc3\xa9\n\x01.txt";
  all.metadata = "filename YQ==,x";
  all.concatenation = Concatenation::final;
  all.parts = "final;/uploads/a /uploads/b";
  all.created_s = 1'800'000'000;
  all.declared_sha256 = std::string(64, '0');
  all.sha256 = std::string(64, 'f');
  all.checked = 0;
  PendingDescription partial;
  partial.concatenation = Concatenation::partial;
  for (const PendingDescription& description : {all, PendingDescription(), partial}) {
    const std::string json = to_json(description);
    EXPECT_EQ(parse_description(json), description) << json;
    for (std::size_t size = 0; size < json.size() - 1; ++size) {
      EXPECT_EQ(parse_description(json.substr(0, size)), std::nullopt) << size;
    }
  }
}

TEST(PendingDescription, Malformed) {
  const Names rows = {
      "",
      "{}",
      "[]",
      R"({"length":-1})",
      R"({"length":"1"})",
      R"({"length":18446744073709551616})",
      R"({"name":1})",
      R"({"name":"\x"})",
      R"({"name":"\u00e9"})",
      R"({"name":"\u00"})",
      R"({"unknown":1})",
      R"({"concatenation":"other"})",
      R"({"name":"a"} x)",
      R"({"name":"a",})",
  };
  for (const std::string& json : rows) EXPECT_EQ(parse_description(json), std::nullopt) << json;
  EXPECT_TRUE(parse_description(R"({ "name" : "a" , "length" : 3 })"));
}

TEST(PendingFiles, Names) {
  const std::string prefix = "h2_tmp_upload_";
  using Kind = PendingEntry::Kind;
  struct Row {
    std::string name;
    std::optional<Kind> kind;
  };
  const std::vector<Row> rows = {
      {prefix + id_a, Kind::bytes},
      {prefix + id_a + ".info", Kind::info},
      {prefix + id_a + ".new", Kind::unfinished_info},
      {prefix + id_a + ".other", std::nullopt},
      {prefix + std::string(31, 'a'), std::nullopt},
      {prefix + std::string(32, 'A'), std::nullopt},
      {prefix + std::string(32, 'g'), std::nullopt},
      {"h2_tmp_1_2_0", std::nullopt},
      {id_a, std::nullopt},
  };
  for (const Row& row : rows) {
    const auto entry = parse_pending_entry(row.name);
    EXPECT_EQ(entry ? std::optional(entry->kind) : std::nullopt, row.kind) << row.name;
  }
  const std::string id = new_upload_id();
  EXPECT_TRUE(is_upload_id(id)) << id;
  EXPECT_NE(id, new_upload_id());
}

// --- what a killed server leaves ----------------------------------------------------------------

TEST_F(Pending, StatesOfFiles) {
  const std::string known = make(*open(), "known", 9, "123");
  directory_.write(bytes_of(id_a), "no description");
  directory_.write(info_of(id_b), R"({"created":1,"length":7,"name":"b"})");
  directory_.write("h2_tmp_upload_" + id_a + ".new", "{");
  age("h2_tmp_upload_" + id_a + ".new", 1'000'000);
  const auto store = open();
  Names left = {bytes_of(known), info_of(known), info_of(id_b)};
  std::ranges::sort(left);
  EXPECT_EQ(directory_.names(), left);
  EXPECT_EQ(directory_.read(bytes_of(id_a)), std::nullopt);
  EXPECT_EQ(status_of(store->status(id_a)), 404);
  const auto stored = store->status(id_b);
  ASSERT_TRUE(stored);
  EXPECT_TRUE(stored->stored) << "only the rename to the final name removes the bytes";
  EXPECT_EQ(stored->offset, 7U);
  const auto pending = store->status(known);
  ASSERT_TRUE(pending);
  EXPECT_FALSE(pending->stored);
  EXPECT_EQ(pending->offset, 3U);
}

// Another server may be making an upload now.
TEST_F(Pending, LockedBytesAreLeftAlone) {
  const auto locked = make_pending_bytes(directory_.fd(), id_a);
  ASSERT_TRUE(locked);
  const auto store = open();
  EXPECT_TRUE(directory_.read(bytes_of(id_a)));
  EXPECT_EQ(status_of(store->open(id_a)), 423);
}

TEST_F(Pending, OneOwnerOverAllServers) {
  const auto first = open();
  const std::string id = make(*first, "a", 9, "123");
  const auto second = open();
  {
    const Opened mine = first->open(id);
    ASSERT_TRUE(mine);
    EXPECT_EQ(status_of(first->open(id)), 423);
    EXPECT_EQ(status_of(second->open(id)), 423);
    age(bytes_of(id), 1'000'000);
    second->sweep();
    EXPECT_TRUE(directory_.read(bytes_of(id))) << "it is being sent";
  }
  second->sweep();
  EXPECT_EQ(directory_.names(), Names{});
}

TEST_F(Pending, SpoiltDescriptions) {
  const auto store = open();
  const std::string id = make(*store, "a", 9, "123");
  directory_.write(info_of(id), "{");
  EXPECT_EQ(status_of(store->open(id)), 500);
  EXPECT_EQ(status_of(store->status(id)), 500);
  directory_.write(info_of(id), R"({"created":1,"length":2,"name":"a"})");
  EXPECT_EQ(status_of(store->open(id)), 500) << "it has more bytes than its length";
}

// --- expiry -------------------------------------------------------------------------------------

TEST_F(Pending, Expiry) {
  const PendingLimits limits{.expire_s = 100, .sweep_ms_min = 0};
  const auto store = open({}, limits);
  const std::string old = make(*store, "old", 9, "123");
  const std::string recent = make(*store, "recent", 9, "123");
  const std::string stored = make(*store, "stored", 3, "123");
  ASSERT_TRUE((*store->open(stored))->store(std::nullopt, false));
  age(bytes_of(recent), 90);
  const auto status = store->status(recent);
  ASSERT_TRUE(status);
  EXPECT_LE(status->expires_s, base::unix_seconds() + 10);
  age(bytes_of(old), 100);
  age(info_of(stored), 100);
  EXPECT_NE(status_of(store->status(old)), 200);
  store->sweep();
  EXPECT_EQ(directory_.names(), (Names{bytes_of(recent), info_of(recent), "stored"}));
  EXPECT_EQ(status_of(store->open(old)), 404);
  EXPECT_EQ(status_of(store->status(stored)), 404);
  // Progress counts, not the creation.
  age(info_of(recent), 1000);
  EXPECT_EQ(status_of(store->open(recent)), 200);
}

TEST_F(Pending, ExpiredBeforeTheSweep) {
  const auto store = open({}, {.expire_s = 100});
  const std::string id = make(*store, "a", 9, "123");
  age(bytes_of(id), 100);
  EXPECT_EQ(status_of(store->open(id)), 410);
  EXPECT_EQ(status_of(store->status(id)), 410);
}

// A sweep reads the directory, so requests cause one per minute at most.
TEST_F(Pending, SweepsAreRare) {
  const auto store = open({}, {.expire_s = 100, .sweep_ms_min = 1'000'000});
  const std::string id = make(*store, "a", 9, "123");
  age(bytes_of(id), 100);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(store->status(id)), 410);
  EXPECT_TRUE(directory_.read(bytes_of(id)));
  EXPECT_EQ(status_of(open({}, {.expire_s = 100})->status(id)), 404) << "opening sweeps";
}

// --- limits -------------------------------------------------------------------------------------

TEST_F(Pending, UploadsAtOnce) {
  const auto store = open({}, {.uploads_max = 2});
  const std::string first = make(*store, "a", 1, "");
  make(*store, "b", 1, "");
  EXPECT_EQ(status_of(store->create({.length = 1, .name = "c"}, false)), 503);
  EXPECT_EQ(status_of(open({}, {.uploads_max = 2})->create({.length = 1, .name = "c"}, false)), 503)
      << "those of earlier servers count";
  (*store->open(first))->remove();
  make(*store, "c", 1, "");
  EXPECT_EQ(status_of(store->create({.length = 1, .name = "d"}, false)), 503);
}

TEST_F(Pending, PlacesAreGivenBack) {
  auto directory = *UploadDirectory::open(directory_.fd());
  PendingUploads store(directory, {}, {.sweep_ms_min = 0});
  const auto begin = [&store] { return store.create({.length = 1, .client = "192.0.2.1"}, false); };
  const auto kept = [&directory] { return directory->pending().ids().size(); };
  const Opened first = begin();
  ASSERT_TRUE(first);
  ASSERT_TRUE(begin());
  EXPECT_EQ(kept(), 2U);
  (*first)->remove();
  EXPECT_EQ(kept(), 1U);
  for (const std::string& name : directory_.names()) {
    std::filesystem::remove(directory_.path_of(name));
  }
  store.sweep();
  EXPECT_EQ(kept(), 0U) << "another process has removed it";
}

TEST_F(Pending, MemoriesOfStoredUploads) {
  const auto store = open({}, {.stored_max = 2});
  Names ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(make(*store, std::to_string(i), 1, "x"));
    ASSERT_TRUE((*store->open(ids.back()))->store(std::nullopt, false));
    age(info_of(ids.back()), 50 - i);
  }
  store->sweep();
  EXPECT_EQ(status_of(store->status(ids[1])), 404);
  EXPECT_EQ(status_of(store->status(ids[2])), 200);
  EXPECT_EQ(directory_.names().size(), 4U + 2U);
}

TEST_F(Pending, SizeOfAFile) {
  const auto store = open({.file_bytes_max = 5});
  EXPECT_EQ(status_of(store->create({.length = 6, .name = "a"}, false)), 413);
  const Opened deferred = store->create({.name = "b"}, false);
  ASSERT_TRUE(deferred);
  EXPECT_EQ(status_of((*deferred)->append("123456")), 413);
  EXPECT_EQ(status_of((*deferred)->append("12345")), 200);
  EXPECT_EQ(status_of((*deferred)->append("6")), 413);
  EXPECT_EQ(status_of((*deferred)->announce_length(6)), 413);
  EXPECT_EQ((*deferred)->offset(), 5U);
}

// Bytes of pending uploads count for the directory, also those of an earlier server.
TEST_F(Pending, SizeOfTheDirectory) {
  const UploadOptions options{.directory_bytes_max = 10};
  auto store = open(options);
  const std::string first = make(*store, "a", 6, "123456");
  EXPECT_EQ(status_of(store->create({.length = 5, .name = "b"}, false)), 413);
  store = open(options);
  EXPECT_EQ(status_of(store->create({.length = 5, .name = "b"}, false)), 413);
  EXPECT_EQ(status_of(store->create({.length = 4, .name = "b"}, false)), 200);
  ASSERT_TRUE((*store->open(first))->store(std::nullopt, false));
  EXPECT_EQ(status_of(store->create({.length = 5, .name = "c"}, false)), 413) << "they count once";
  EXPECT_EQ(status_of(store->create({.length = 4, .name = "c"}, false)), 200);
  const std::string second = make(*store, "d", 4, "1234");
  EXPECT_EQ(status_of(store->create({.length = 1, .name = "e"}, false)), 413);
  (*store->open(second))->remove();
  EXPECT_EQ(status_of(store->create({.length = 4, .name = "e"}, false)), 200);
}

TEST_F(Pending, NoDescriptors) {
  const auto store = open();
  const std::string id = make(*store, "a", 3, "12");
  tests::on_a_new_thread([&] {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    EXPECT_EQ(status_of(store->open(id)), 503);
    EXPECT_EQ(status_of(store->create({.length = 1, .name = "b"}, false)), 503);
  });
  EXPECT_EQ(directory_.names().size(), 2U);
  EXPECT_EQ(status_of(store->open(id)), 200);
}

// --- storing ------------------------------------------------------------------------------------

TEST_F(Pending, StoredFiles) {
  for (const Durability durability :
       {Durability::none, Durability::file, Durability::file_and_directory}) {
    const auto store = open({.overwrite = true, .durability = durability, .folders = true});
    const std::string id = make(*store, "x/y/a", 3, "abc");
    const Opened opened = store->open(id);
    EXPECT_TRUE((*opened)->sync());
    const auto stored = (*opened)->store(std::nullopt, true);
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->name, "x/y/a");
    EXPECT_EQ(stored->size, 3U);
    EXPECT_EQ(stored->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(stored->replaced, durability != Durability::none);
    EXPECT_EQ(directory_.read("x/y/a"), "abc");
  }
}

// Of uploads that take one name at the same time, one is stored and the others stay pending.
TEST_F(Pending, BytesThatSomebodyRemoves) {
  const auto store = open();
  const std::string id = make(*store, "a", 1, "1");
  Opened upload = store->open(id);
  ASSERT_TRUE(upload);
  std::filesystem::remove(directory_.path_of(bytes_of(id)));
  EXPECT_EQ(status_of((*upload)->store(std::nullopt, false)), 410);
  EXPECT_EQ(directory_.names(), Names{}) << "nor is it remembered as stored";
}

TEST_F(Pending, OneOfANameAtATime) {
  const auto directory = *UploadDirectory::open(directory_.fd());
  PendingUploads store(directory, {}, {});
  constexpr int uploads = 8;
  std::vector<std::string> ids;
  for (int i = 0; i < uploads; ++i) ids.push_back(make(store, "a", 1, std::to_string(i)));
  std::array<int, uploads> statuses{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      threads.emplace_back([&store, &ids, &statuses, i] {
        statuses[i] = status_of((*store.open(ids[i]))->store(std::nullopt, false));
      });
    }
  }
  EXPECT_EQ(std::ranges::count(statuses, 200), 1);
  EXPECT_EQ(std::ranges::count(statuses, 409), uploads - 1);
  const auto winner = std::ranges::find(statuses, 200) - statuses.begin();
  EXPECT_EQ(directory_.read("a"), std::to_string(winner));
  const auto taken = directory->names().reserve("b");
  EXPECT_EQ(status_of((*store.open(ids[winner == 0 ? 1 : 0]))->store("b", true)), 409);
  EXPECT_EQ(directory_.read("b"), std::nullopt);
}

// Two joins of the same parts would store them twice.
TEST_F(Pending, JoinedPartsBelongToOneRequest) {
  auto directory = *UploadDirectory::open(directory_.fd());
  PendingUploads store(directory, {});
  NewUpload wanted;
  wanted.length = 1;
  wanted.concatenation = Concatenation::partial;
  Opened part = store.create(std::move(wanted), false);
  ASSERT_TRUE(part);
  EXPECT_TRUE((*part)->append("a"));
  const std::string id = (*part)->id();
  const auto join = [&] {
    NewUpload whole;
    whole.name = "whole";
    whole.concatenation = Concatenation::final;
    return store.concatenate(std::move(whole), {id}, false);
  };
  EXPECT_EQ(status_of(join()), 423) << "another request has it open";
  part->reset();
  {
    const auto joined = directory->names().reserve(bytes_of(id));
    ASSERT_TRUE(joined);
    EXPECT_EQ(status_of(join()), 423);
    EXPECT_EQ(status_of(store.open(id)), 423);
  }
  EXPECT_EQ(status_of(join()), 200);
  EXPECT_EQ(status_of(store.open(id)), 404);
}

// Neither a lock nor a disk that is written to at once loses the parts.
TEST_F(Pending, JoinedPartsStayUntilTheirFileIsStored) {
  for (const Durability durability :
       {Durability::none, Durability::file, Durability::file_and_directory}) {
    auto directory = *UploadDirectory::open(directory_.fd());
    PendingUploads store(directory, {.durability = durability, .folders = true});
    std::vector<std::string> ids;
    for (const char* const bytes : {"a", "bc"}) {
      NewUpload wanted;
      wanted.length = std::string_view(bytes).size();
      wanted.concatenation = Concatenation::partial;
      Opened part = store.create(std::move(wanted), false);
      ASSERT_TRUE(part);
      EXPECT_TRUE((*part)->append(bytes));
      ids.push_back((*part)->id());
    }
    const auto join = [&] {
      NewUpload whole;
      whole.name = "d/whole";
      whole.concatenation = Concatenation::final;
      return store.concatenate(std::move(whole), ids, false);
    };
    const std::int64_t now_ms = base::monotonic_ms();
    const auto lock = directory->locks().add({.path = "d", .deep = true}, now_ms);
    ASSERT_TRUE(lock);
    EXPECT_EQ(status_of(join()), 423);
    for (const std::string& id : ids) EXPECT_EQ(status_of(store.status(id)), 200);
    EXPECT_EQ(directory->locks().remove("d", lock->token, "", now_ms), LockTable::Removal::done);
    EXPECT_EQ(status_of(join()), 200);
    EXPECT_EQ(directory_.read("d/whole"), "abc");
    for (const std::string& id : ids) EXPECT_EQ(status_of(store.status(id)), 404);
    EXPECT_EQ(directory->space().claimed(), 0U);
    std::filesystem::remove_all(directory_.path_of("d"));
  }
}

TEST_F(Pending, FoldersAreMadeOnlyForWhatIsStored) {
  directory_.write("x/taken", "");
  const auto store = open({.folders = true});
  const std::string id = make(*store, "x/b", 3, "abc");
  EXPECT_EQ(status_of((*store->open(id))->store("x/taken", false)), 409);
  EXPECT_EQ(status_of((*store->open(id))->store("x/taken/c", false)), 409);
  EXPECT_EQ(status_of((*store->open(id))->store("new/folder/c", false)), 200);
  EXPECT_EQ(directory_.read("new/folder/c"), "abc");
}

// The server that has received it is gone, with the digest of what it has received.
TEST_F(Pending, ADigestOfAllEndsWithItsTask) {
  const std::string id = make(*open(), "a", 3, "abc");
  const auto store = open();
  const Opened upload = store->open(id);
  ASSERT_TRUE(upload);
  EXPECT_EQ((*upload)->bytes_to_digest(), 3U);
  coro::StopState task;
  const file::StopFlag stop(&task);
  task.stop(StopReason::client_left);
  EXPECT_EQ(status_of((*upload)->store(std::nullopt, false, &stop)), 503);
  EXPECT_EQ(directory_.read("a"), std::nullopt);
  ASSERT_TRUE((*upload)->store(std::nullopt, false));
  EXPECT_EQ((*upload)->bytes_to_digest(), 0U);
  EXPECT_EQ(directory_.read("a"), "abc");
}

TEST_F(Pending, WithoutDigests) {
  const auto store = open({.sha256 = false});
  const auto stored = (*store->open(make(*store, "a", 3, "abc")))->store(std::nullopt, false);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->sha256, "");
}

}  // namespace pending_uploads_test
}  // namespace h2server::content
