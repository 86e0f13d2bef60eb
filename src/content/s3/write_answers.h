// Reads and writes the documents of S3 for what is stored. Pure functions, any thread. The errors
// say what is missing or wrong in a response.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "content/s3/answers.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::content::s3 {

// Of the response to a PUT of an object or of a part: the entity tag.
Result<std::string, std::string_view> written_tag(const AnswerHead& head);

// Of CreateMultipartUpload: true if the object will have the CRC-32C of all its bytes.
bool keeps_whole_checksum(const AnswerHead& head);
// The id.
Result<std::string, std::string_view> begun_id(std::string_view body);

struct PartList {
  // MinIO lists a part that it can't read now without an ETag.
  std::vector<StoredPart> parts = {};
  unsigned next = 0;  // the part-number-marker of the following page; 0: this is the last
};
// Of ListParts.
Result<PartList, std::string_view> part_list(std::string_view body);

// The body of CompleteMultipartUpload.
std::string completion(std::span<const StoredPart> parts);
// Of its response: the entity tag.
Result<std::string, std::string_view> completed_tag(std::string_view body);

}  // namespace h2server::content::s3
