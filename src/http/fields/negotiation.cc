#include "h2server/negotiation.h"

#include <algorithm>

#include "http/fields/syntax.h"

namespace h2server {

namespace {

constexpr int quality_max = 1000;  // a weight has three decimals (RFC 9110, 12.4.2)

// An element of a list: what is accepted, and how much.
struct Accepted {
  std::string_view what;        // media range, coding or language range
  std::string_view parameters;  // between `what` and the weight
  int quality = quality_max;
};

// How well an element matches an offer, and the offer's quality by it.
struct Match {
  int rank = 0;  // 0: it does not match
  int quality = 0;
};

// RFC 9110, 12.4.2, and fewer or more digits. Returns nullopt for anything else.
std::optional<int> parse_quality(std::string_view text) noexcept {
  const std::string_view whole = text.substr(0, text.find('.'));
  const std::string_view decimals = text.substr(std::min(whole.size() + 1, text.size()));
  if (whole.size() + decimals.size() == 0 || whole.size() > 1) return std::nullopt;
  int quality = 0;
  int unit = quality_max;
  for (const std::string_view digits : {whole.empty() ? std::string_view("0") : whole, decimals}) {
    for (const char c : digits) {
      if (!base::is_digit(c)) return std::nullopt;
      quality += (c - '0') * unit;
      unit /= 10;
    }
  }
  if (quality > quality_max) return std::nullopt;
  return quality;
}

// Removes the first non-empty parameter from `rest`. The name is empty at the end.
Field take_parameter(std::string_view& rest) noexcept {
  while (!rest.empty()) {
    const std::string_view text = http::take_until(rest, ';');
    if (text.empty()) continue;
    const std::size_t equals = std::min(text.find('='), text.size());
    return {http::trim(text.substr(0, equals)),
            http::trim(text.substr(std::min(equals + 1, text.size())))};
  }
  return {};
}

// Returns nullopt if the weight is malformed. What follows the weight is ignored: extensions that
// RFC 9110 removed.
std::optional<Accepted> parse_accepted(std::string_view element) noexcept {
  Accepted accepted;
  std::string_view rest = element;
  accepted.what = http::take_until(rest, ';');
  accepted.parameters = rest;
  while (!rest.empty()) {
    const std::size_t before = accepted.parameters.size() - rest.size();
    const Field parameter = take_parameter(rest);
    if (!http::equals_ignoring_case(parameter.name, "q")) continue;
    accepted.parameters = accepted.parameters.substr(0, before);
    const std::optional<int> quality = parse_quality(parameter.value);
    if (!quality) return std::nullopt;
    accepted.quality = *quality;
    break;
  }
  return accepted;
}

// Calls `each` with every well-formed element of all field lines with that name. Returns true if
// there is such a line.
template <class Each>
bool for_each_accepted(const Request& request, std::string_view name, Each each) {
  bool present = false;
  for (const Field& line : request.head().fields) {
    if (!http::equals_ignoring_case(line.name, name)) continue;
    present = true;
    std::string_view rest = line.value;
    while (!rest.empty()) {
      const std::string_view element = http::take_until(rest, ',');
      const std::optional<Accepted> accepted = parse_accepted(element);
      if (accepted && !accepted->what.empty()) each(*accepted);
    }
  }
  return present;
}

// Returns the index of the offer with the highest quality above 0. `quality_of` returns it.
template <class QualityOf>
std::optional<std::size_t> best_of(std::span<const std::string_view> offers, QualityOf quality_of) {
  std::optional<std::size_t> best;
  int best_quality = 0;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const int quality = quality_of(offers[i]);
    if (quality <= best_quality) continue;
    best = i;
    best_quality = quality;
  }
  return best;
}

// Returns the quality by the element with the highest rank, and the highest one among equals.
// Returns nullopt if the field is absent or has no valid element.
template <class MatchOf>
std::optional<Match> best_match(const Request& request, std::string_view name, MatchOf match_of) {
  bool any = false;
  Match best;
  for_each_accepted(request, name, [&](const Accepted& accepted) {
    const std::optional<Match> match = match_of(accepted);
    if (!match) return;
    any = true;
    if (match->rank > best.rank || (match->rank == best.rank && match->quality > best.quality)) {
      best = *match;
    }
  });
  if (!any) return std::nullopt;
  return best;
}

// --- media types ---------------------------------------------------------------------------------

struct MediaType {
  std::string_view type;
  std::string_view subtype;
};

std::optional<MediaType> parse_media_type(std::string_view text) noexcept {
  if (text == "*") return MediaType{"*", "*"};  // sent by Java's HttpURLConnection
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const MediaType parsed{text.substr(0, slash), text.substr(slash + 1)};
  const bool good = http::is_token(parsed.type) && http::is_token(parsed.subtype) &&
                    (parsed.type != "*" || parsed.subtype == "*");
  return good ? std::optional(parsed) : std::nullopt;
}

std::string_view without_quotes(std::string_view value) noexcept {
  const bool quoted = value.size() >= 2 && value.starts_with('"') && value.ends_with('"');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

bool has_parameter(std::string_view parameters, const Field& wanted) noexcept {
  while (!parameters.empty()) {
    const Field own = take_parameter(parameters);
    if (!own.name.empty() && http::equals_ignoring_case(own.name, wanted.name) &&
        http::equals_ignoring_case(without_quotes(own.value), without_quotes(wanted.value))) {
      return true;
    }
  }
  return false;
}

// Returns nullopt if the range is malformed.
std::optional<Match> match_media_type(const Accepted& range, const MediaType& offer,
                                      std::string_view offer_parameters) noexcept {
  const std::optional<MediaType> wanted = parse_media_type(range.what);
  if (!wanted) return std::nullopt;
  constexpr Match none;
  if (wanted->type == "*") return Match{1, range.quality};
  if (!http::equals_ignoring_case(wanted->type, offer.type)) return none;
  if (wanted->subtype == "*") return Match{2, range.quality};
  if (!http::equals_ignoring_case(wanted->subtype, offer.subtype)) return none;
  int rank = 3;
  std::string_view rest = range.parameters;
  while (!rest.empty()) {
    const Field parameter = take_parameter(rest);
    if (parameter.name.empty()) continue;
    if (!has_parameter(offer_parameters, parameter)) return none;
    ++rank;
  }
  return Match{rank, range.quality};
}

// --- content codings -----------------------------------------------------------------------------

// RFC 9110, 8.4.1.1 and 8.4.1.3.
std::string_view coding_of(std::string_view name) noexcept {
  if (http::equals_ignoring_case(name, "x-gzip")) return "gzip";
  if (http::equals_ignoring_case(name, "x-compress")) return "compress";
  return name;
}

// --- languages -----------------------------------------------------------------------------------

// RFC 4647, 3.3.1: `tag` equals `range`, or begins with it and a hyphen.
bool begins_with_range(std::string_view tag, std::string_view range) noexcept {
  return http::equals_ignoring_case(tag.substr(0, range.size()), range) &&
         (tag.size() == range.size() || tag[range.size()] == '-');
}

// Returns nullopt if the range is malformed. Ranks: "*", then fallbacks, then ranges by length.
std::optional<Match> match_language(const Accepted& range, std::string_view tag) noexcept {
  constexpr int fallback = 2;
  if (range.what == "*") return Match{1, range.quality};
  const auto is_octet = [](char c) { return base::is_alphanumeric(c) || c == '-'; };
  if (!std::ranges::all_of(range.what, is_octet)) return std::nullopt;
  if (begins_with_range(tag, range.what)) {
    return Match{fallback + static_cast<int>(range.what.size()), range.quality};
  }
  // Who refuses "de-CH" does not refuse "de".
  const bool falls_back = begins_with_range(range.what, tag) && range.quality > 0;
  return falls_back ? Match{fallback, range.quality} : Match{};
}

}  // namespace

std::optional<std::size_t> best_media_type(const Request& request,
                                           std::span<const std::string_view> offers) noexcept {
  return best_of(offers, [&](std::string_view offer) {
    std::string_view parameters = offer;
    const std::optional<MediaType> type = parse_media_type(http::take_until(parameters, ';'));
    if (!type) return 0;
    const std::optional<Match> match = best_match(request, "accept", [&](const Accepted& accepted) {
      return match_media_type(accepted, *type, parameters);
    });
    return match ? match->quality : quality_max;
  });
}

std::optional<std::size_t> best_encoding(const Request& request,
                                         std::span<const std::string_view> offers) noexcept {
  const bool present = for_each_accepted(request, "accept-encoding", [](const Accepted&) {});
  return best_of(offers, [&](std::string_view offer) {
    const bool identity = http::equals_ignoring_case(offer, "identity");
    if (!present) return identity ? quality_max : 1;
    const std::optional<Match> match =
        best_match(request, "accept-encoding", [&](const Accepted& accepted) {
          if (accepted.what == "*") return Match{1, accepted.quality};
          const bool same = http::equals_ignoring_case(coding_of(accepted.what), coding_of(offer));
          return same ? Match{2, accepted.quality} : Match{};
        });
    // Doubled, so that what the field names comes before the identity that it does not.
    if (match && match->rank > 0) return match->quality * 2;
    return identity ? 1 : 0;
  });
}

std::optional<std::size_t> best_language(const Request& request,
                                         std::span<const std::string_view> offers) noexcept {
  return best_of(offers, [&](std::string_view offer) {
    const std::optional<Match> match =
        best_match(request, "accept-language",
                   [&](const Accepted& accepted) { return match_language(accepted, offer); });
    return match ? match->quality : quality_max;
  });
}

}  // namespace h2server
