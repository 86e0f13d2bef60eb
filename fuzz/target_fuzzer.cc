// Fuzzer of request targets and authorities. Checks the whole input and each of its words, so a
// request line and Host can be seeds unchanged.
#include <algorithm>

#include "fuzzer.h"
#include "target_rules.h"

namespace h2server::fuzz {

void check(std::string_view input) {
  constexpr std::string_view between_words = " \r\n";
  check_target(input);
  check_authority(input);
  while (!input.empty()) {
    const std::string_view word = input.substr(0, input.find_first_of(between_words));
    check_target(word);
    check_authority(word);
    input.remove_prefix(word.size());
    input.remove_prefix(std::min(input.find_first_not_of(between_words), input.size()));
  }
}

}  // namespace h2server::fuzz
