#include "multipart_rules.h"

#include "multipart_reading.h"
#include "multipart_reference.h"
#include "part_names.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using End = MultipartReference::End;

void compare_parts(const MultipartReading& reading, const MultipartReference& reference) {
  require(reading.parts.size() <= reference.parts.size(), "no parts but those of the body");
  for (std::size_t i = 0; i < reading.parts.size(); ++i) {
    require(reading.parts[i].ended == reference.parts[i].ended, "a part ends at a delimiter");
    require_same(reading.parts[i].content, reference.parts[i].content, "the content of a part");
  }
}

void compare(const MultipartReading& reading, const MultipartReference& reference) {
  compare_parts(reading, reference);
  // The reference does not parse heads, so it may accept a part whose head is malformed.
  const bool head_refused = reading.parts.size() < reference.parts.size();
  const bool malformed = !reading.problem.empty();
  if (head_refused) {
    require(malformed, "a part is left out only for its head");
    return;
  }
  require(reading.finished == (reference.end == End::finished), "the closing delimiter ends it");
  // The parser may or may not detect that an unfinished head is malformed.
  if (reference.end == End::head_incomplete) return;
  require(malformed == (reference.end == End::malformed), "what follows a delimiter is checked");
}

void require_sound_head(const content::PartHead& head) {
  require(head.name.find('\0') == std::string::npos, "a name has no NUL");
  require(head.content_type.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
          "a type is one line");
  require_reprints(head);
  if (head.file_name) require_safe_file_name(*head.file_name);
}

}  // namespace

void check_multipart(std::string_view boundary, std::string_view body, Cuts cuts,
                     content::MultipartLimits limits) {
  const MultipartReading whole = read_multipart(boundary, body, Cuts::whole(), limits);
  const std::string text = describe(whole);
  require_same(describe(read_multipart(boundary, body, cuts, limits)), text,
               "pieces are understood as the whole is");
  require_same(describe(read_multipart(boundary, body, Cuts::single_bytes(), limits)), text,
               "single bytes are understood as the whole is");
  compare(whole, split_multipart(boundary, body, limits));
  for (const ReadPart& part : whole.parts) require_sound_head(part.head);
}

}  // namespace h2server::fuzz
