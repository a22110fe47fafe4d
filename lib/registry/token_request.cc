#include "registry/token_service.h"

#include "base/text.h"
#include "http/url.h"

namespace prefetch::registry {

std::string TokenUrl(const http::AbsoluteUrl& realm, std::string_view service,
                     const std::vector<std::string>& scopes) {
  std::string url = realm.ToString();
  char separator = url.find('?') == std::string::npos ? '?' : '&';
  auto append = [&](std::string_view name, std::string_view value) {
    url += separator;
    url += name;
    url += '=';
    url += http::PercentEncode(value);
    separator = '&';
  };
  if (!service.empty()) append("service", service);
  for (const std::string& scope : scopes) append("scope", scope);
  return url;
}

std::string RefreshTokenForm(const base::Secret& refresh_token, std::string_view service,
                             const std::vector<std::string>& scopes) {
  std::string token = http::PercentEncode(refresh_token.Reveal());
  std::string form =
      "grant_type=refresh_token&client_id=prefetchd&scope=" + http::PercentEncode(base::Join(scopes, " "));
  if (!service.empty()) form += "&service=" + http::PercentEncode(service);
  // In one piece, so that no copy of the token is left behind by a string that grew.
  form.reserve(form.size() + token.size() + 32);
  form += "&refresh_token=";
  form += token;
  base::WipeString(token);
  return form;
}

}  // namespace prefetch::registry
