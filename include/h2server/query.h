// Parameters: the decoded names and values of a query or of a form that was sent as
// application/x-www-form-urlencoded.
//
// Request::query_parameters() and Request::read_form() make them. Names may repeat. A value object
// that refers to nothing outside.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace h2server {

struct Parameter {
  std::string name;
  std::string value;
};

// In order of appearance. Names compare case-sensitively.
class Parameters {
 public:
  // A query of 8 KiB could have 4000 of them, a form of 1 MiB half a million, each of which takes
  // 64 bytes. Forms have tens.
  static constexpr std::size_t count_max = 1000;

  Parameters() = default;
  // Decodes `text` (WHATWG URL, 5.1): '+' is a space, %XX a byte, an invalid escape stands for
  // itself, U+FFFD replaces what is not UTF-8. A name without '=' has an empty value. There are no
  // malformed texts.
  explicit Parameters(std::string_view text);

  // Returns true if there were more than count_max; the others are not kept.
  [[nodiscard]] bool truncated() const noexcept { return truncated_; }

  // Returns the value of the first parameter with that name. Valid while this object is unchanged.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  // Returns the values of all parameters with that name. Valid as those of find().
  [[nodiscard]] std::vector<std::string_view> all(std::string_view name) const;

  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] auto begin() const noexcept { return items_.begin(); }
  [[nodiscard]] auto end() const noexcept { return items_.end(); }

 private:
  std::vector<Parameter> items_;
  bool truncated_ = false;
};

}  // namespace h2server
#pragma GCC visibility pop
