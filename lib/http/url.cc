#include "http/url.h"

#include <algorithm>

#include "base/redactor.h"
#include "base/text.h"

namespace prefetch::http {
namespace {

constexpr std::size_t kMaxParameters = 100;  // a list check asks for less than ten
constexpr std::size_t kMaxDisplayBytes = 200;

bool IsVisibleAscii(char c) {
  return c > 0x20 && c < 0x7f;
}

bool IsUnreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// Returns decoded text that the rest of the program can take, without NUL and in UTF-8; nullopt otherwise.
std::optional<std::string> CleanDecode(std::string_view text) {
  auto decoded = PercentDecode(text);
  if (!decoded || decoded->find('\0') != std::string::npos || !base::IsUtf8(*decoded)) return std::nullopt;
  return decoded;
}

std::optional<std::string> DecodeParameter(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return CleanDecode(spaced);
}

// Returns "/x?y" for "http://host:1/x?y", which a proxy may send (RFC 9112 section 3.2.2).
std::string_view WithoutAuthority(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!base::EqualsIgnoreCase(target.substr(0, scheme.size()), scheme)) continue;
    std::size_t slash = target.find_first_of("/?", scheme.size());
    return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  return target;
}

}  // namespace

base::Result<Target> ParseTarget(std::string_view target) {
  // A stricter rule than libmicrohttpd's, so that what is logged and compared is exactly what was sent.
  if (!std::all_of(target.begin(), target.end(), IsVisibleAscii)) {
    return base::InvalidArgument("the request target has a character that must be percent-encoded");
  }
  if (target.find('#') != std::string_view::npos) {
    return base::InvalidArgument("the request target has a fragment");
  }
  target = WithoutAuthority(target);
  // The target is split before it is decoded: an escaped "?" or "&" is part of a name.
  std::size_t question = target.find('?');
  std::string_view raw_path = target.substr(0, question);
  if (raw_path.empty() || raw_path.front() != '/') {
    return base::InvalidArgument("the request target is no absolute path");
  }
  auto path = CleanDecode(raw_path);
  if (!path) return base::InvalidArgument("the path has an invalid percent escape");
  Target result{.path = std::move(*path), .query = {}};
  if (question == std::string_view::npos) return result;

  for (std::string_view parameter : base::Split(target.substr(question + 1), '&')) {
    // "?a&&b" and a trailing "&" are common, and name nothing.
    if (parameter.empty()) continue;
    if (result.query.size() == kMaxParameters) return base::InvalidArgument("too many query parameters");
    std::size_t equals = parameter.find('=');
    auto name = DecodeParameter(parameter.substr(0, equals));
    auto value =
        DecodeParameter(equals == std::string_view::npos ? std::string_view() : parameter.substr(equals + 1));
    if (!name || !value) return base::InvalidArgument("the query has an invalid percent escape");
    result.query.emplace_back(std::move(*name), std::move(*value));
  }
  return result;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    int high = base::HexDigit(text[i + 1]), low = base::HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string PercentEncode(std::string_view text, std::string_view keep) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (char c : text) {
    if (IsUnreserved(c) || keep.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      unsigned char byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

std::string DisplayUrl(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  std::string shown;
  std::size_t scheme_end = url.find("://");
  if (scheme_end != std::string_view::npos) {
    shown = url.substr(0, scheme_end + 3);
    url.remove_prefix(scheme_end + 3);
  }
  // A password may contain an unescaped "/", so everything before the last "@" is taken for userinfo, even if
  // that hides a part of a path.
  std::size_t at = url.rfind('@');
  if (at != std::string_view::npos) url.remove_prefix(at + 1);
  shown.append(url.begin(), std::find_if_not(url.begin(), url.end(), IsVisibleAscii));
  // A redirect or a realm may repeat a secret in its host or path.
  return base::Truncate(base::Redact(shown), kMaxDisplayBytes);
}

}  // namespace prefetch::http
