// HeaderLines: the header lines that libcurl sends. They may hold a secret: their bytes are wiped.
#pragma once

#include <curl/curl.h>
#include <string.h>

#include <string>
#include <string_view>

#include "base/text.h"

namespace prefetch::http {

class HeaderLines {
 public:
  HeaderLines() = default;
  HeaderLines(const HeaderLines&) = delete;
  HeaderLines& operator=(const HeaderLines&) = delete;
  ~HeaderLines() {
    for (curl_slist* line = lines_; line != nullptr; line = line->next) {
      explicit_bzero(line->data, std::char_traits<char>::length(line->data));
    }
    curl_slist_free_all(lines_);
  }

  void Add(std::string_view name, std::string_view value) {
    std::string line;
    line.reserve(name.size() + 2 + value.size());
    line += name;
    // "Name;" is how libcurl is told of a field without a value; "Name:" would take the field out.
    line += value.empty() ? ";" : ": ";
    line += value;
    lines_ = Appended(line);
    base::WipeString(line);
  }
  void AddLine(const std::string& line) { lines_ = Appended(line); }
  // Keeps libcurl from adding a field by itself.
  void Suppress(const char* name) { lines_ = Appended(std::string(name) + ":"); }
  curl_slist* get() const { return lines_; }

 private:
  curl_slist* Appended(const std::string& line) {
    curl_slist* more = curl_slist_append(lines_, line.c_str());
    return more == nullptr ? lines_ : more;
  }
  curl_slist* lines_ = nullptr;
};

}  // namespace prefetch::http
