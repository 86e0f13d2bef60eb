#include "content/cache/disk_object.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace h2server::content {
namespace disk_object_test {

DiskHead head_of(std::uint64_t size) {
  DiskHead head{.info = {.size = size,
                         .etag = "\"t\"",
                         .modified_s = 784111777,
                         .content_type = "text/plain; charset=utf-8",
                         .fields = {{"Cache-Control", "max-age=60"}, {"Expires", "a: b"}}}};
  for (std::size_t i = 0; i < disk_blocks(size); ++i) {
    head.digests.push_back(Sha256::Value{static_cast<unsigned char>(i)});
  }
  return head;
}

TEST(DiskHead, Text) {
  const std::string text = to_text(head_of(disk_block_bytes + 1));
  const std::string zeros(60, '0');
  EXPECT_TRUE(text.starts_with("h2server object 1\n"
                               "size: 1048577\n"
                               "etag: \"t\"\n"
                               "modified: 784111777\n"
                               "type: text/plain; charset=utf-8\n"
                               "field: Cache-Control: max-age=60\n"
                               "field: Expires: a: b\n"
                               "block: 0000" +
                               zeros +
                               "\n"
                               "block: 0100" +
                               zeros +
                               "\n"
                               "sha256: "))
      << text;
}

TEST(DiskHead, RoundTrip) {
  const std::uint64_t sizes[] = {1, disk_block_bytes - 1, disk_block_bytes, disk_block_bytes + 1,
                                 5 * disk_block_bytes};
  for (const std::uint64_t size : sizes) {
    const DiskHead written = head_of(size);
    const std::optional<DiskHead> read = parse_disk_head(to_text(written));
    ASSERT_TRUE(read.has_value()) << size;
    EXPECT_EQ(read->info.size, size);
    EXPECT_EQ(read->info.etag, written.info.etag);
    EXPECT_EQ(read->info.modified_s, written.info.modified_s);
    EXPECT_EQ(read->info.content_type, written.info.content_type);
    ASSERT_EQ(read->info.fields.size(), 2U);
    EXPECT_EQ(read->info.fields[1].name, "Expires");
    EXPECT_EQ(read->info.fields[1].value, "a: b");
    EXPECT_EQ(read->digests, written.digests);
  }
  EXPECT_TRUE(parse_disk_head(to_text({.info = {}})).has_value()) << "without any value";
}

TEST(DiskHead, EveryDamageShows) {
  const std::string text = to_text(head_of(disk_block_bytes + 1));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(parse_disk_head(text.substr(0, i)).has_value()) << i;
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(parse_disk_head(other).has_value()) << i;
  }
  EXPECT_FALSE(parse_disk_head(text + "\n").has_value());
  EXPECT_FALSE(parse_disk_head(std::string(text.size(), '\0')).has_value()) << "lost power";
  DiskHead short_of_one = head_of(disk_block_bytes + 1);
  short_of_one.digests.pop_back();
  EXPECT_FALSE(parse_disk_head(to_text(short_of_one)).has_value());
}

TEST(DiskChecks, AreDoneWhenEachBlockIs) {
  DiskChecks checks({}, 3);
  for (const std::size_t block : {2U, 0U, 2U, 0U}) {
    checks.note(block);
    EXPECT_FALSE(checks.done());
  }
  checks.note(1);
  EXPECT_TRUE(checks.done());
  EXPECT_TRUE(DiskChecks({}, 0).done()) << "written by this process";
}

}  // namespace disk_object_test
}  // namespace h2server::content
