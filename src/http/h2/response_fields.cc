#include "http/h2/response_fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/message.h"
#include "http/syntax.h"

namespace h2server::http::h2 {

namespace {

std::string_view lower(std::string_view name, base::Arena& arena) {
  const std::span<char> room = arena.take(name.size());
  std::ranges::transform(name, room.begin(), to_lower);
  return {room.data(), room.size()};
}

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
    head.prepared = file->h2_fields;
    head.prepared_id = file->number;
  } else {
    fields.push_back({":status", number(static_cast<std::uint64_t>(response.status()), arena)});
    fields.push_back({"server", "h2server"});
    const std::optional<std::uint64_t> size = response.size();
    if (size && may_have_content(response.status())) {
      fields.push_back({"content-length", number(*size, arena)});
    }
  }
  for (const Response::Line& line : response.fields()) {
    const std::string_view name = lower(line.name, arena);
    if (!belongs_to_connection(name)) fields.push_back({name, line.value});
  }
  head.fields = fields;
  return head;
}

void trailer_fields(std::span<const Field> given, base::Arena& arena, std::vector<Field>& fields) {
  for (const Field& field : given) {
    const std::string_view name = lower(field.name, arena);
    const bool good = is_token(name) && std::ranges::all_of(field.value, is_field_value_character);
    const bool about_message = name == "content-length" || name == "transfer-encoding" ||
                               name == "trailer" || name == "content-encoding" ||
                               name == "content-type" || name == "content-range";
    if (!good || about_message || belongs_to_connection(name)) continue;
    fields.push_back({name, trim(field.value)});
  }
}

}  // namespace h2server::http::h2
