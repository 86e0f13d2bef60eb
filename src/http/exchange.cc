#include "http/exchange.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "base/text/text.h"
#include "http/answer.h"

namespace h2server::http {

bool ExchangeState::request_in_use() const noexcept {
  const auto* const streamed = std::get_if<Response::Streamed>(&response.body());
  const bool hooked = composition != nullptr && composition->failure_hook;
  return duplex != nullptr || hooked || (streamed != nullptr && streamed->source->reads_request());
}

void ExchangeState::shrink_head(std::span<const std::string_view> names) {
  const std::array views = {&head.method_name, &head.target, &head.path, &head.authority};
  std::vector<Field> kept;
  for (const Field& field : head.fields) {
    const bool named = std::ranges::any_of(
        names, [&](std::string_view name) { return base::equals_ignoring_case(field.name, name); });
    if (named) kept.push_back(field);
  }
  std::size_t size = 0;
  for (const std::string_view* view : views) size += view->size();
  for (const Field& field : kept) size += field.name.size() + field.value.size();

  base::Arena arena_kept;
  const std::span<char> room = arena_kept.take(size);
  std::size_t used = 0;
  const auto keep = [&](std::string_view text) {
    std::ranges::copy(text, room.begin() + static_cast<std::ptrdiff_t>(used));
    used += text.size();
    return std::string_view(room.data() + used - text.size(), text.size());
  };
  for (std::string_view* view : views) *view = keep(*view);
  head.fields = Fields();
  for (const Field& field : kept) {
    const std::string_view name = keep(field.name);
    head.fields.add(name, keep(field.value));
  }
  head.query = {};
  params.clear();
  arena = std::move(arena_kept);
}

}  // namespace h2server::http
