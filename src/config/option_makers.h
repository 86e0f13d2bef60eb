// Makers of the table's rows, by the type of the value. Only the files of the table include this.
//
// A field is a function that returns a reference into the target: the setter writes to it, and the
// getter reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/option_table.h"

namespace h2server::config {

using Values = std::vector<std::string>;

// The rows by their groups, in the order of help. Each of them adds some.
void add_file_options(std::vector<Option>& all);
void add_response_options(std::vector<Option>& all);
void add_access_options(std::vector<Option>& all);
void add_upload_options(std::vector<Option>& all);
void add_tls_options(std::vector<Option>& all);
void add_listener_options(std::vector<Option>& all);
void add_scheme_options(std::vector<Option>& all);
void add_limit_options(std::vector<Option>& all);
void add_log_options(std::vector<Option>& all);
void add_operation_options(std::vector<Option>& all);

// Makes a row of an option whose value is read by `read` and stored by `store`.
template <class Reader, class Store>
auto setter(Reader read, Store store) {
  return [read, store](const Target& target, const std::string& text) -> Read<void> {
    auto value = read(text);
    if (!value) return std::unexpected(std::move(value.error()));
    store(target, *std::move(value));
    return {};
  };
}

template <class Field>
Option flag(Option row, Field field) {
  row.type = ValueType::flag;
  row.set = setter(read_switch, [field](const Target& target, bool on) { field(target) = on; });
  row.get = [field](const Target& target) { return Values{field(target) ? "true" : "false"}; };
  return row;
}

template <class Field>
Option toggle(Option row, Field field) {
  row = flag(std::move(row), field);
  row.type = ValueType::toggle;
  row.value = "on|off";
  row.choices = {"on", "off"};
  return row;
}

// A text that must not be empty.
template <class Field>
Option text(Option row, Field field) {
  row.set = [field](const Target& target, const std::string& value) -> Read<void> {
    if (value.empty()) return std::unexpected("empty; leave it out");
    field(target) = value;
    return {};
  };
  row.get = [field](const Target& target) {
    const std::string& value = field(target);
    return value.empty() ? Values{} : Values{value};
  };
  return row;
}

template <class Field>
Option file(Option row, Field field) {
  row.type = ValueType::file;
  row.value = "FILE";
  return text(std::move(row), field);
}

template <class Field>
Option directory(Option row, Field field) {
  row.type = ValueType::directory;
  row.value = "DIR";
  return text(std::move(row), field);
}

// If 0 is out of range, it stands for a default that others decide, and is not written.
template <class Field>
Option number(Option row, Field field) {
  using Number = std::remove_reference_t<decltype(field(std::declval<const Target&>()))>;
  row.type = ValueType::number;
  row.value = "NUM";
  const Range range = row.range;
  row.set = setter([range](const std::string& value) { return read_number(value, range); },
                   [field](const Target& target, std::uint64_t value) {
                     field(target) = static_cast<Number>(value);
                   });
  row.get = [field, range](const Target& target) {
    const std::uint64_t value = field(target);
    return value < range.least ? Values{} : Values{std::to_string(value)};
  };
  return row;
}

template <class Field>
Option size(Option row, Field field) {
  row.type = ValueType::size;
  row.value = "SIZE";
  row.set = setter([](const std::string& value) { return read_size(value); },
                   [field](const Target& target, std::uint64_t bytes) { field(target) = bytes; });
  row.get = [field](const Target& target) { return Values{write_size(field(target))}; };
  return row;
}

// A time of any length, also none.
template <class Field>
Option duration(Option row, Field field) {
  row.type = ValueType::duration;
  row.value = "TIME";
  row.set = setter(
      [](const std::string& value) { return read_duration(value); },
      [field](const Target& target, std::chrono::milliseconds value) { field(target) = value; });
  row.get = [field](const Target& target) { return Values{write_duration(field(target))}; };
  return row;
}

// A time of Limits, in milliseconds: 0 would mean none, so it is refused.
template <class Field>
Option duration_ms(Option row, Field field) {
  row.type = ValueType::duration;
  row.value = "TIME";
  row.set = [field](const Target& target, const std::string& value) -> Read<void> {
    const Read<std::chrono::milliseconds> duration = read_duration(value);
    if (!duration) return std::unexpected(duration.error());
    constexpr std::int64_t most = std::int64_t{7} * 24 * 60 * 60 * 1000;
    if (duration->count() < 1 || duration->count() > most) {
      return std::unexpected("out of range; allowed: 1ms to 7d");
    }
    field(target) = static_cast<std::uint32_t>(duration->count());
    return {};
  };
  row.get = [field](const Target& target) {
    return Values{write_duration(std::chrono::milliseconds(field(target)))};
  };
  return row;
}

// `names` holds pairs of a name and a value.
template <class Field, class Names>
Option choice(Option row, Field field, Names names) {
  row.type = ValueType::choice;
  if (row.value.empty()) row.value = "NAME";
  std::string allowed;
  for (const auto& [name, value] : names) {
    row.choices.push_back(name);
    allowed += (allowed.empty() ? "" : ", ") + std::string(name);
  }
  row.set = [field, names, allowed](const Target& target, const std::string& text) -> Read<void> {
    for (const auto& [name, value] : names) {
      if (name != text) continue;
      field(target) = value;
      return {};
    }
    return std::unexpected("unknown; allowed: " + allowed);
  };
  row.get = [field, names](const Target& target) {
    for (const auto& [name, value] : names) {
      if (value == field(target)) return Values{std::string(name)};
    }
    return Values{};
  };
  return row;
}

// A repeatable option whose values are read by `read` and pushed to a vector.
template <class Reader, class Field, class Write>
Option list(Option row, Reader read, Field field, Write write) {
  row.repeatable = true;
  row.set = setter(read, [field](const Target& target, auto value) {
    field(target).push_back(std::move(value));
  });
  row.get = [field, write](const Target& target) {
    Values values;
    for (const auto& one : field(target)) values.push_back(write(one));
    return values;
  };
  return row;
}

}  // namespace h2server::config
