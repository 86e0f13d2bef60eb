#include "content/uploads/stored/store_upload_state.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace h2server::content {

namespace {

// Removes "NAME: …\n" from the front of `text` and returns what is in it.
std::optional<std::string_view> take_field_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == text.npos || !text.starts_with(name)) return std::nullopt;
  std::string_view line = text.substr(name.size(), end - name.size());
  if (!line.starts_with(": ")) return std::nullopt;
  line.remove_prefix(2);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string store_upload_prefix(std::string_view id) {
  return fmt::format("{}{}/", store_uploads_prefix, id);
}
std::string state_key(std::string_view id) { return store_upload_prefix(id).append(state_name); }
std::string lock_key(std::string_view id) { return store_upload_prefix(id).append(lock_name); }
std::string tail_name(unsigned number) { return fmt::format("{}{:05}", tail_prefix, number); }
std::string tail_key(std::string_view id, unsigned number) {
  return store_upload_prefix(id) + tail_name(number);
}

bool UploadState::operator==(const UploadState& other) const {
  return description == other.description && parts.key == other.parts.key &&
         parts.id == other.parts.id && finishing_s == other.finishing_s && stored == other.stored;
}

std::string to_text(const UploadState& state) {
  return fmt::format("parts-key: {}\nparts-id: {}\nfinishing: {}\nstored: {}\n{}", state.parts.key,
                     state.parts.id, state.finishing_s, state.stored ? 1 : 0,
                     to_json(state.description));
}

std::optional<UploadState> parse_upload_state(std::string_view text) {
  const auto key = take_field_line(text, "parts-key");
  const auto id = key ? take_field_line(text, "parts-id") : std::nullopt;
  const auto finishing = id ? take_field_line(text, "finishing") : std::nullopt;
  const auto stored = finishing ? take_field_line(text, "stored") : std::nullopt;
  if (!stored || (*stored != "0" && *stored != "1")) return std::nullopt;
  const std::optional<std::uint64_t> time = base::parse_decimal(*finishing);
  std::optional<PendingDescription> description = parse_description(text);
  if (!time || !description) return std::nullopt;
  return UploadState{.description = *std::move(description),
                     .parts = {.key = std::string(*key), .id = std::string(*id)},
                     .finishing_s = static_cast<std::int64_t>(*time),
                     .stored = *stored == "1"};
}

std::string make_tail(const std::optional<net::Sha256State>& digest, std::string_view bytes) {
  std::string tail = digest ? digest->digits() : std::string(net::Sha256State::digits_size, '-');
  tail += '\n';
  tail += bytes;
  return tail;
}

std::optional<Tail> parse_tail(std::string_view object, std::uint64_t before) {
  if (object.size() < tail_head_bytes || object[tail_head_bytes - 1] != '\n') return std::nullopt;
  const std::string_view digits = object.substr(0, net::Sha256State::digits_size);
  Tail tail{.digest = net::Sha256State::resume(digits, before),
            .bytes = std::string(object.substr(tail_head_bytes))};
  if (!tail.digest && digits.find_first_not_of('-') != digits.npos) return std::nullopt;
  return tail;
}

}  // namespace h2server::content
