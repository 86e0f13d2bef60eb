// PreparedHead: a response's head that is sent often, such as a file's, in the forms that sessions
// need. Immutable, so threads share it. The strings of its fields belong to the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "h2server/message.h"
#include "http/h2/hpack/encoder.h"

namespace h2server::http::h2 {

// Appends of each field the name, NUL, the value, NUL: texts are equal only if the fields are.
inline void append_text(std::string& text, std::span<const Field> fields) {
  for (const Field& field : fields) {
    text.append(field.name).append(1, '\0').append(field.value).append(1, '\0');
  }
}

struct PreparedHead {
  std::vector<Field> common;  // ":status" first; other heads have the same
  std::string text;           // of `common`, see append_text()
  hpack::Group own;           // the fields by which heads differ
};

// Names must be in lower case. Equal values of `id` mean equal fields in `own`.
inline PreparedHead prepared_head(std::uint64_t id, std::vector<Field> common,
                                  std::vector<Field> own) {
  std::string text;
  append_text(text, common);
  return {std::move(common), std::move(text), hpack::group_of(id, std::move(own))};
}

}  // namespace h2server::http::h2
