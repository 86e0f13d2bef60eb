#include "http/h2/response_fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/fields/common_fields.h"
#include "http/fields/syntax.h"
#include "http/file_head.h"
#include "http/message.h"

namespace h2server::http::h2 {

namespace {

std::string_view number(std::uint64_t value, base::Arena& arena) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return arena.copy({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

bool belongs_to_connection(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 3> names = {"keep-alive", "proxy-connection", "upgrade"};
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

ResponseHead response_head(const Response& response, base::Arena& arena,
                           std::vector<Field>& fields) {
  fields.clear();
  ResponseHead head;
  if (const File* const file = response.described_by()) {
    head.prepared = &file->head().h2;
  } else {
    fields.push_back({":status", number(static_cast<std::uint64_t>(response.status()), arena)});
    for (const CommonField& common : common_fields) fields.push_back(common.field);
    const std::optional<std::uint64_t> size = response.size();
    if (size && may_have_content(response.status())) {
      fields.push_back({"content-length", number(*size, arena)});
    }
  }
  for (const Response::Line& line : response.fields()) {
    const std::string_view name = lower_case(line.name, arena);
    if (!belongs_to_connection(name)) fields.push_back({name, line.value});
  }
  head.fields = fields;
  return head;
}

}  // namespace h2server::http::h2
