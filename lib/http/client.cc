#include "http/client.h"

#include "base/text.h"

namespace prefetch::http {

base::Secret BasicAuthorization(const std::string& username, const base::Secret& password) {
  std::string pair;
  pair.reserve(username.size() + 1 + password.Reveal().size());  // growing would leave copies behind
  pair += username;
  pair += ':';
  pair += password.Reveal();
  std::string encoded = base::Base64Encode(pair);
  base::WipeString(pair);
  base::Secret value("Basic " + encoded);
  base::WipeString(encoded);
  return value;
}

base::Secret BearerAuthorization(const base::Secret& token) {
  std::string value;
  // 7 is the length of "Bearer ". Growing would leave copies of the token behind.
  value.reserve(7 + token.Reveal().size());
  value += "Bearer ";
  value += token.Reveal();
  return base::Secret(std::move(value));
}

}  // namespace prefetch::http
