// How large a resumable upload to a store may become: as large as the parts that a store has of one
// object.

#include "content/memory_store.h"
#include "content/resumable_support.h"
#include "content/uploads/stored/resumable_in_store.h"

namespace h2server::content {
namespace store_upload_limit_test {

using tests::Asking;
using tests::field_of;
using tests::FieldList;
using tests::MemoryStore;

constexpr std::size_t part_bytes = 64;
constexpr unsigned parts_max = 3;
constexpr std::size_t most = part_bytes * parts_max;

class StoreUploadLimitTest : public tests::ResumableTest {
 protected:
  StoreUploadLimitTest() {
    memory_->part_bytes_min = 1;
    start(0);
  }

  void start(std::uint64_t file_bytes_max) {
    ResumableStoreOptions options;
    options.sizes.part_bytes = part_bytes;
    options.sizes.parts_max = parts_max;
    options.uploads.file_bytes_max = file_bytes_max;
    options.limits.expire_s = 1'000'000'000;  // the times of a MemoryStore are old
    serve(resumable_in_store(memory_, options));
  }

  Response create(FieldList more, std::vector<std::string> body = {}) {
    FieldList fields = {{"Tus-Resumable", "1.0.0"}, {"Upload-Metadata", "filename YS50eHQ="}};
    if (!body.empty()) fields.emplace_back("Content-Type", "application/offset+octet-stream");
    fields.insert(fields.end(), more.begin(), more.end());
    return ask(Method::POST, "/uploads", {.fields = fields, .body = std::move(body)});
  }
  Response patch(const std::string& url, std::uint64_t offset, std::vector<std::string> body,
                 bool sized = true, FieldList more = {}) {
    FieldList fields = {{"Tus-Resumable", "1.0.0"},
                        {"Upload-Offset", std::to_string(offset)},
                        {"Content-Type", "application/offset+octet-stream"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return ask(Method::PATCH, url, {.fields = fields, .body = std::move(body), .sized = sized});
  }
  std::string offset_of(const std::string& url) {
    return field_of(ask(Method::HEAD, url, {.fields = {{"Tus-Resumable", "1.0.0"}}}),
                    "Upload-Offset");
  }
  // Requests of the draft for resumable uploads.
  Response create_by_draft(FieldList fields, std::vector<std::string> body = {},
                           bool sized = true) {
    fields.emplace_back("Upload-Draft-Interop-Version", "8");
    return ask(Method::POST, "/uploads?name=a.txt",
               {.fields = std::move(fields), .body = std::move(body), .sized = sized});
  }
  [[nodiscard]] bool holds_nothing() const {
    const auto is_of_upload = [](const auto& object) {
      return object.first == "a.txt" || object.first.starts_with(store_uploads_prefix);
    };
    return std::ranges::none_of(memory_->objects, is_of_upload) && memory_->begun.empty();
  }

  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
};

TEST_F(StoreUploadLimitTest, BothProtocolsStateTheLimit) {
  const Response options = ask(Method::OPTIONS, "/uploads");
  EXPECT_EQ(field_of(options, "Tus-Max-Size"), "192");
  EXPECT_TRUE(field_of(options, "Upload-Limit").starts_with("max-size=192, "));
  start(100);
  EXPECT_EQ(field_of(ask(Method::OPTIONS, "/uploads"), "Tus-Max-Size"), "100");
  start(1000);
  EXPECT_EQ(field_of(ask(Method::OPTIONS, "/uploads"), "Tus-Max-Size"), "192");
  EXPECT_EQ(StoreUploadSizes().file_bytes_max(), 10'000ULL * 8 * 1024 * 1024);
}

TEST_F(StoreUploadLimitTest, AKnownLengthIsRefusedAtTheBeginning) {
  const Response by_tus = create({{"Upload-Length", "193"}});
  EXPECT_EQ(by_tus.status(), 413);
  EXPECT_EQ(field_of(by_tus, "Tus-Max-Size"), "192");
  EXPECT_NE(std::get<std::string>(by_tus.body()).find("a file may have at most 192 bytes"),
            std::string::npos);
  const Response by_draft = create_by_draft({{"Upload-Complete", "?0"}, {"Upload-Length", "193"}});
  EXPECT_EQ(by_draft.status(), 413);
  EXPECT_TRUE(field_of(by_draft, "Upload-Limit").starts_with("max-size=192, "));
  const std::string body(most + 1, 'a');
  EXPECT_EQ(create_by_draft({{"Upload-Complete", "?1"}}, {body}).status(), 413);
  EXPECT_EQ(create({{"Upload-Length", "193"}}, {body}).status(), 413);
  EXPECT_TRUE(holds_nothing());
}

TEST_F(StoreUploadLimitTest, TheLargestLengthIsStored) {
  const Response made = create({{"Upload-Length", "192"}});
  ASSERT_EQ(made.status(), 201);
  const std::string text(most, 'a');
  EXPECT_EQ(patch(field_of(made, "Location"), 0, {text}).status(), 204);
  EXPECT_EQ(memory_->objects.at("a.txt").bytes, text);
}

TEST_F(StoreUploadLimitTest, ALengthThatBecomesKnownIsRefused) {
  const Response made = create({{"Upload-Defer-Length", "1"}});
  ASSERT_EQ(made.status(), 201);
  const std::string url = field_of(made, "Location");
  EXPECT_EQ(patch(url, 0, {std::string(100, 'a')}).status(), 204);
  EXPECT_EQ(patch(url, 100, {"b"}, true, {{"Upload-Length", "193"}}).status(), 413);
  EXPECT_EQ(offset_of(url), "100");
  EXPECT_EQ(patch(url, 100, {std::string(92, 'b')}, true, {{"Upload-Length", "192"}}).status(),
            204);
  EXPECT_EQ(memory_->objects.at("a.txt").bytes.size(), most);
}

TEST_F(StoreUploadLimitTest, AnUnknownLengthEndsAtTheLimit) {
  const Response made = create({{"Upload-Defer-Length", "1"}});
  ASSERT_EQ(made.status(), 201);
  const std::string url = field_of(made, "Location");
  EXPECT_EQ(patch(url, 0, {std::string(most - 1, 'a')}).status(), 204);
  EXPECT_EQ(patch(url, most - 1, {"bc"}).status(), 413);         // before it is read
  EXPECT_EQ(patch(url, most - 1, {"bc"}, false).status(), 413);  // of an unknown size
  EXPECT_EQ(offset_of(url), "191");
  EXPECT_EQ(patch(url, most - 1, {"b"}).status(), 204);
  EXPECT_EQ(patch(url, most, {"c"}).status(), 413);
  EXPECT_EQ(offset_of(url), "192");
  EXPECT_EQ(patch(url, most, {}, true, {{"Upload-Length", "192"}}).status(), 204);
  EXPECT_EQ(memory_->objects.at("a.txt").bytes, std::string(most - 1, 'a') + "b");
}

TEST_F(StoreUploadLimitTest, ABodyBeyondTheLimitIsNotRead) {
  const Response made = create({{"Upload-Defer-Length", "1"}});
  const std::string url = field_of(made, "Location");
  tests::Asked asked;
  asked.head.method = Method::PATCH;
  asked.head.path = url;
  asked.head.authority = "here";
  asked.head.content_length = most + 1;
  asked.head.fields.add("Tus-Resumable", "1.0.0");
  asked.head.fields.add("Upload-Offset", "0");
  asked.head.fields.add("Content-Type", "application/offset+octet-stream");
  tests::FakeBody body({std::string(most + 1, 'a')});
  int reads = 0;
  body.before_read = [&reads](std::size_t) { ++reads; };
  const http::Router::Match match = sink_->router.find(Method::PATCH, url, asked.params);
  ASSERT_NE(match.handler, nullptr);
  EXPECT_EQ(asked.answer(*match.handler, &body).status(), 413);
  EXPECT_EQ(reads, 0);
}

TEST_F(StoreUploadLimitTest, TheDraftEndsAtTheLimit) {
  const Response made =
      create_by_draft({{"Upload-Complete", "?0"}}, {std::string(most, 'a')}, false);
  ASSERT_EQ(made.status(), 201);
  const std::string url = field_of(made, "Location");
  const FieldList next = {{"Upload-Complete", "?0"},
                          {"Upload-Offset", "192"},
                          {"Upload-Draft-Interop-Version", "8"},
                          {"Content-Type", "application/partial-upload"}};
  const Response refused = ask(Method::PATCH, url, {.fields = next, .body = {"b"}});
  EXPECT_EQ(refused.status(), 413);
  EXPECT_EQ(field_of(refused, "Upload-Offset"), "192");
  FieldList last = next;
  last.front().second = "?1";
  EXPECT_EQ(ask(Method::PATCH, url, {.fields = last}).status(), 201);
  EXPECT_EQ(memory_->objects.at("a.txt").bytes.size(), most);
}

}  // namespace store_upload_limit_test
}  // namespace h2server::content
