// Headers: the fields of an HTTP message, in their order; names compare without case (RFC 9110 section 5.1).
// ParseDate: dates of HTTP.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace prefetch::http {

// A value. The same name may stand in it several times, as WWW-Authenticate does.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void Add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Continues the value of the last field, which must exist, after one blank: an obsolete folded line.
  void ContinueLast(std::string_view more) { fields_.back().second.append(" ").append(more); }
  // The first field of that name, or nullopt. The view lives as long as this object is not changed.
  std::optional<std::string_view> Get(std::string_view name) const;
  // Every field of that name, in their order.
  std::vector<std::string_view> All(std::string_view name) const;
  bool Has(std::string_view name) const { return Get(name).has_value(); }

  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

  friend bool operator==(const Headers&, const Headers&) = default;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// May this go on the wire as it is? A name is a token; a value has no control character (so no line break, by
// which a client could inject a field or a request).
bool IsFieldName(std::string_view name);
bool IsFieldValue(std::string_view value);

// Parses the three spellings of an HTTP date (RFC 9110 section 5.6.7), as strptime reads them, within the
// years 1970 to 2200. The day of the week is not checked against the date. nullopt for anything else.
std::optional<base::WallTime> ParseDate(std::string_view text);

}  // namespace prefetch::http
