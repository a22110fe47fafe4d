#include "registry/challenge.h"

#include <algorithm>
#include <array>

#include "base/go_url.h"
#include "base/text.h"
#include "http/addresses.h"
#include "http/headers.h"
#include "registry/host.h"

namespace prefetch::registry {

namespace {

// Limit on hostile input (R39). Real challenges are a few hundred bytes.
constexpr std::size_t kMaxChallengeBytes = 8 * 1024;

// Reads from the front of a field, as containerd's remotes/docker/auth/parse.go does.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  void SkipBlanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  // Skips `c`; false if there is something else.
  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A token of RFC 9110; empty if there is none.
  std::string_view Token() {
    std::size_t size = 0;
    while (size < rest_.size() && http::IsFieldName(rest_.substr(size, 1))) size++;
    std::string_view token = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return token;
  }
  // Reads a token or a quoted string. A quote that is never closed gives an empty value and ends the field,
  // as in containerd.
  std::string Value() {
    if (!Take('"')) return std::string(Token());
    std::string value;
    for (std::size_t i = 0; i < rest_.size(); i++) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return value;
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      value += rest_[i];
    }
    rest_ = {};
    return "";
  }

 private:
  std::string_view rest_;
};

base::Error Broken(std::string_view why) {
  return base::InvalidArgument("the registry's WWW-Authenticate " + std::string(why));
}

}  // namespace

// The last parameter of a name counts (R14).
std::string_view Challenge::Get(std::string_view name) const {
  std::string_view found;
  for (const auto& parameter : parameters) {
    if (parameter.first == name) found = parameter.second;
  }
  return found;
}

// Reads the first challenge of the field, and stops at the first mistake. The parameters before it count, as
// they do for the runtimes (R14).
Challenge ParseChallenge(std::string_view field) {
  Scanner scanner(field);
  Challenge challenge{.scheme = base::ToLower(scanner.Token())};
  if (challenge.scheme.empty()) return challenge;
  do {
    scanner.SkipBlanks();
    std::string name = base::ToLower(scanner.Token());
    if (name.empty() || !scanner.Take('=')) break;
    challenge.parameters.emplace_back(std::move(name), scanner.Value());
    scanner.SkipBlanks();
  } while (scanner.Take(','));
  return challenge;
}

base::Result<std::optional<Challenge>> ChooseChallenge(const std::vector<std::string_view>& fields) {
  std::optional<Challenge> chosen;
  for (std::string_view field : fields) {
    if (field.size() > kMaxChallengeBytes) return Broken("is too long");
    Challenge challenge = ParseChallenge(field);
    // Bearer wins over Basic (R14): a password then goes to the token service only.
    bool better = challenge.scheme == "bearer" ? !chosen || chosen->scheme != "bearer"
                                               : challenge.scheme == "basic" && !chosen;
    if (better) chosen = std::move(challenge);
  }
  if (chosen && chosen->scheme == "bearer" && chosen->Get("realm").empty()) return Broken("names no realm");
  return chosen;
}

namespace {

constexpr std::size_t kMaxBytes = 2048;

// "co.uk" and "com.au" are second levels that nobody owns. The public suffix list knows more of them; here, a
// mistake only lets a registry in such a domain name a token service of its neighbour.
bool IsCountrySecondLevel(std::string_view second, std::string_view top) {
  static constexpr std::array<std::string_view, 8> kShared = {"ac", "co",  "com", "edu",
                                                              "go", "gov", "net", "org"};
  return top.size() == 2 && std::find(kShared.begin(), kShared.end(), second) != kShared.end();
}

// Returns the registered domain by its last labels; empty if there is none.
std::string RegistrableParent(std::string_view host) {
  if (http::IsAddress(host)) return "";
  std::vector<std::string_view> labels = base::Split(host, '.');
  if (labels.size() < 2) return "";
  std::string_view top = labels.back(), second = labels[labels.size() - 2];
  std::string parent = std::string(second) + "." + std::string(top);
  if (!IsCountrySecondLevel(second, top)) return parent;
  return labels.size() < 3 ? "" : std::string(labels[labels.size() - 3]) + "." + parent;
}

bool Belongs(const std::string& realm, const std::string& registry) {
  if (realm == registry || registry == "registry." + realm) return true;
  std::string parent = RegistrableParent(realm);
  return !parent.empty() && parent == RegistrableParent(registry);
}

}  // namespace

base::Result<Realm> ValidateRealm(std::string_view realm, const http::AbsoluteUrl& contact,
                                  const std::vector<std::string>& trusted_hosts) {
  if (realm.size() > kMaxBytes) return base::InvalidArgument("the token service's URL is too long");
  auto url = http::ParseAbsoluteUrl(realm);
  if (!url) return std::move(url).error().Wrap("token service");
  // The runtimes give up at a broken escape, and at "https://host\\path".
  if (!base::ParseGoUrl(realm))
    return base::InvalidArgument("the token service's URL is none for the runtimes");
  // Over plain http, anybody on the way could read the password. A registry that is itself asked over http
  // has no such protection anyway.
  if (url->scheme == "http" && (contact.scheme != "http" || url->host != contact.host)) {
    return base::InvalidArgument("the token service's URL is plain http");
  }
  bool named = std::find(trusted_hosts.begin(), trusted_hosts.end(), url->host) != trusted_hosts.end();
  return Realm{.url = *url, .trusted = named || Belongs(url->host, contact.host)};
}

}  // namespace prefetch::registry
