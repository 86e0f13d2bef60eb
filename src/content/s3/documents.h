// Finds elements and reads values in the documents of S3 and STS. Stores differ in the namespaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "content/s3/answers.h"
#include "content/xml/xml.h"

namespace h2server::content::s3 {

// Of a page of 1000 objects or parts: up to ten elements each, with their texts, spaces between
// them, and the namespace once more in each name.
inline constexpr XmlLimits answer_limits{.bytes_max = AnswerLimits::list_bytes_max,
                                         .depth_max = 8,
                                         .nodes_max = 64 * 1024,
                                         .names_bytes_max = 8 * 1024 * 1024};

// Returns the first child with that name, or null.
const XmlNode* find_child(const XmlNode& node, std::string_view name) noexcept;
// Returns its text, without copying it; empty if there is none.
std::string_view text_of(const XmlNode& node, std::string_view child_name) noexcept;

// "2009-10-12T17:50:30.000Z" (ISO 8601), also without the fraction, which is not needed. Returns
// seconds since 1970.
std::optional<std::int64_t> parse_time(std::string_view text) noexcept;
// Of a message of the other side, for a line of the log.
std::string printable(std::string_view text);

}  // namespace h2server::content::s3
