#include "content/s3/checksums.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace h2server::content::s3 {
namespace checksums_test {

// Of "123456789", by other programs.
constexpr std::string_view bytes = "123456789";
const std::string sum = "4waSgw==";
const std::string digest = "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=";

TEST(S3Checksums, OfResponses) {
  struct Row {
    std::vector<Response::Line> fields;
    std::string found;  // "sum", "digest" or "-"
  };
  const Response::Line of_object{"x-amz-checksum-type", "FULL_OBJECT"};
  const Response::Line of_parts{"X-Amz-Checksum-Type", "COMPOSITE"};
  const std::vector<Row> rows = {
      {{}, "-"},
      {{{"x-amz-checksum-crc32c", sum}}, "sum"},
      {{{"X-Amz-Checksum-Crc32c", sum}, of_object}, "sum"},
      {{{"x-amz-checksum-crc32c", sum}, of_parts}, "-"},
      {{{"x-amz-checksum-crc32c", sum + "-2"}}, "-"},
      {{{"x-amz-checksum-crc32c", digest}}, "-"},
      {{{"x-amz-checksum-crc32c", "4waSgw"}}, "-"},
      {{{"x-amz-checksum-sha256", digest}}, "digest"},
      {{{"x-amz-checksum-sha256", digest + "-2"}}, "-"},
      {{{"x-amz-checksum-sha256", sum}}, "-"},
      {{{"x-amz-checksum-sha256", digest}, {"x-amz-checksum-crc32c", sum}}, "sum"},
      {{{"x-amz-checksum-crc32", sum}}, "-"},
      {{of_object}, "-"},
  };
  for (const Row& row : rows) {
    const auto stated = StatedChecksum::of({.status = 200, .fields = row.fields});
    EXPECT_EQ(!stated          ? "-"
              : stated->slow() ? "digest"
                               : "sum",
              row.found)
        << (row.fields.empty() ? "" : row.fields.front().value);
  }
}

TEST(S3Checksums, VerifyPieces) {
  for (const auto& [name, stated] :
       {std::pair("x-amz-checksum-crc32c", sum), std::pair("x-amz-checksum-sha256", digest)}) {
    for (const bool wrong : {false, true}) {
      for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        auto checksum = StatedChecksum::of({.status = 200, .fields = {{name, stated}}});
        ASSERT_TRUE(checksum);
        checksum->update(bytes.substr(0, cut));
        checksum->update(bytes.substr(cut));
        if (wrong) checksum->update("0");
        EXPECT_EQ(checksum->matches(), !wrong) << name << " " << cut;
      }
    }
  }
}

}  // namespace checksums_test
}  // namespace h2server::content::s3
