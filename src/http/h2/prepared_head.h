// PreparedHead: a response's head that is sent often, such as a file's, in the forms that sessions
// need. Immutable, so threads share it. The strings of its fields belong to the file.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "h2server/message.h"
#include "http/fields/common_fields.h"
#include "http/h2/hpack/encoder.h"

namespace h2server::http::h2 {

struct PreparedHead {
  // What all such heads begin with.
  static constexpr std::array<Field, 1 + common_fields.size()> common = [] {
    std::array<Field, 1 + common_fields.size()> all = {{{":status", "200"}}};
    for (std::size_t i = 0; i < common_fields.size(); ++i) all[i + 1] = common_fields[i].field;
    return all;
  }();

  PreparedHead() = default;
  PreparedHead(std::vector<hpack::HashedField> with_others, hpack::Group alone)
      : shared(std::move(with_others)), own(std::move(alone)), bound(own.literals.size()) {
    for (const hpack::HashedField& hashed : shared) bound += hpack::Encoder::bound(hashed.field);
  }

  std::vector<hpack::HashedField> shared;  // with many other heads
  hpack::Group own;       // the fields by which heads differ; its number is the head's
  std::size_t bound = 0;  // maximum bytes that encode() writes for both
};

}  // namespace h2server::http::h2
