#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace h2server::base {
namespace crc32c_test {

struct Row {
  std::string bytes;
  std::uint32_t sum;
};

std::string ascending() {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string descending() {
  const std::string bytes = ascending();
  return {bytes.rbegin(), bytes.rend()};
}

// RFC 3720, B.4; "123456789" is the check value of catalogues.
const std::vector<Row> rows = {
    {"", 0},
    {"123456789", 0xe3069283},
    {std::string(32, '\0'), 0x8a9136aa},
    {std::string(32, '\xff'), 0x62a8ab43},
    {ascending(), 0x46dd794e},
    {descending(), 0x113fdb5c},
};

TEST(Crc32c, Vectors) {
  for (const Row& row : rows) {
    EXPECT_EQ(crc32c(0, row.bytes), row.sum);
    EXPECT_EQ(crc32c_by_table(0, row.bytes), row.sum);
  }
}

TEST(Crc32c, InPieces) {
  for (const Row& row : rows) {
    for (std::size_t cut = 0; cut <= row.bytes.size(); ++cut) {
      const std::string_view all = row.bytes;
      EXPECT_EQ(crc32c(crc32c(0, all.substr(0, cut)), all.substr(cut)), row.sum);
      EXPECT_EQ(crc32c_by_table(crc32c_by_table(0, all.substr(0, cut)), all.substr(cut)), row.sum);
    }
  }
}

TEST(Crc32c, BothWaysAgree) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(crc32c(7, bytes), crc32c_by_table(7, bytes)) << i;
    bytes += static_cast<char>(i * 31 + i / 251);
  }
}

}  // namespace crc32c_test
}  // namespace h2server::base
