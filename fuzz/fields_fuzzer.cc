// Fuzzer of HTTP/2 field sections and of field values. An input consists of field blocks (see
// field_blocks.h). The whole input and each of its lines are also checked as field values.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "field_blocks.h"
#include "field_values.h"
#include "fuzzer.h"
#include "hpack_rules.h"
#include "request_head_rules.h"
#include "target_rules.h"

namespace h2server::fuzz {

namespace {

// Checks each distinct value once. Limits count and size, because a story has thousands of values.
class Values {
 public:
  void check(std::string_view value) {
    constexpr std::size_t values_max = 6;
    constexpr std::size_t value_bytes_max = 512;
    value = value.substr(0, value_bytes_max);
    if (seen_.size() == values_max || !seen_.emplace(value).second) return;
    check_field_value(value);
    check_authority(value);
    check_target(value);
  }

 private:
  std::set<std::string, std::less<>> seen_;
};

void check_blocks(const FieldBlocks& input, Values& values) {
  HpackRules hpack(input.decoder_table_bytes);
  for (const FieldBlock& block : input.blocks) {
    std::vector<DecodedLine> lines;
    const bool good = hpack.decode(block.bytes, lines);
    if (block.encoder_table_bytes) hpack.set_encoder_table_bytes(*block.encoder_table_bytes);
    hpack.encode(lines);
    check_request_head(lines);
    check_trailers(lines);
    for (const DecodedLine& line : lines) values.check(line.value);
    if (!good) return;
  }
}

void check_lines(std::string_view text, Values& values) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    values.check(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

}  // namespace

void check(std::string_view input) {
  Values values;
  values.check(input);
  check_blocks(read_blocks(input), values);
  check_lines(input, values);
}

}  // namespace h2server::fuzz
