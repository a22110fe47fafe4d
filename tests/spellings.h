// The spellings in which strangers repeat a secret.
#pragma once

#include <cctype>
#include <functional>
#include <string>

#include "base/text.h"

namespace prefetch::tests {

inline std::string Unpadded(std::string text) {
  return text.substr(0, text.find('='));
}

inline std::string UrlSafe(const std::string& text) {
  return base::ReplaceAll(base::ReplaceAll(Unpadded(text), "+", "-"), "/", "_");
}

// Writes each byte as `before` and `width` digits of hex.
inline std::string Each(const std::string& text, const std::string& before, int width,
                        const char* digits = "0123456789abcdef") {
  std::string out;
  for (char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    out += before + (width == 4 ? "00" : "") + digits[byte / 16] + digits[byte % 16];
  }
  return out;
}

inline std::string Json(const std::string& text) {
  return base::ReplaceAll(base::ReplaceAll(base::ReplaceAll(text, "\\", "\\\\"), "\"", "\\\""), "/", "\\/");
}

// Percent-encodes all but letters and digits.
inline std::string Url(const std::string& text) {
  std::string out;
  for (char c : text)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c)
                                                            : Each({c}, "%", 2, "0123456789ABCDEF");
  return out;
}

// Writes each character of ASCII as a numeric entity of HTML.
inline std::string Numeric(const std::string& text, bool hex) {
  std::string out;
  for (char c : text)
    out += hex ? Each({c}, "&#x", 2, "0123456789ABCDEF") + ";"
               : "&#" + std::to_string(static_cast<unsigned char>(c)) + ";";
  return out;
}

struct Spelling {
  const char* name;
  std::function<std::string(const std::string&)> write;
};

inline const Spelling kSpellings[] = {
    {"raw", [](const std::string& s) { return s; }},
    {"upper case",
     [](const std::string& s) {
       std::string up = s;
       for (char& c : up) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
       return up;
     }},
    {"base64", [](const std::string& s) { return base::Base64Encode(s); }},
    {"base64 without padding", [](const std::string& s) { return Unpadded(base::Base64Encode(s)); }},
    {"base64 for URLs", [](const std::string& s) { return UrlSafe(base::Base64Encode(s)); }},
    {"base64 as second part", [](const std::string& s) { return base::Base64Encode("u:" + s); }},
    {"base64 as third part", [](const std::string& s) { return base::Base64Encode("me:" + s + "\n"); }},
    {"base64 of base64",
     [](const std::string& s) { return base::Base64Encode(base::Base64Encode("u:" + s)); }},
    {"base64 for URLs of base64",
     [](const std::string& s) { return UrlSafe(base::Base64Encode("x" + base::Base64Encode(s))); }},
    {"base64 of URL", [](const std::string& s) { return base::Base64Encode("u=" + Url(s)); }},
    {"base64 of JSON",
     [](const std::string& s) { return base::Base64Encode("{\"p\":\"" + Json(s) + "\"}"); }},
    {"base64 of hex", [](const std::string& s) { return base::Base64Encode(Each(s, "", 2)); }},
    {"hex of base64", [](const std::string& s) { return Each(base::Base64Encode(s), "", 2); }},
    {"hex", [](const std::string& s) { return Each(s, "", 2); }},
    {"upper hex", [](const std::string& s) { return Each(s, "", 2, "0123456789ABCDEF"); }},
    {"URL", Url},
    {"URL, all", [](const std::string& s) { return Each(s, "%", 2); }},
    {"URL twice", [](const std::string& s) { return Url(Url(s)); }},
    {"URL of base64", [](const std::string& s) { return Url(base::Base64Encode(s)); }},
    {"JSON", Json},
    {"JSON in JSON", [](const std::string& s) { return Json(Json(s)); }},
    {"JSON, all", [](const std::string& s) { return Each(s, "\\u", 4); }},
    {"JSON of base64", [](const std::string& s) { return Json(base::Base64Encode(s)); }},
    {"HTML",
     [](const std::string& s) { return base::ReplaceAll(base::ReplaceAll(s, "&", "&amp;"), "<", "&lt;"); }},
    {"HTML, all", [](const std::string& s) { return Numeric(s, false); }},
    {"HTML, all in hex", [](const std::string& s) { return Numeric(s, true); }},
    {"a cut one", [](const std::string& s) { return s.size() < 13 ? s : s.substr(0, 12); }},
    {"the end", [](const std::string& s) { return s.size() < 13 ? s : s.substr(s.size() - 12); }},
};

}  // namespace prefetch::tests
