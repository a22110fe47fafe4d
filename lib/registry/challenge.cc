#include "registry/challenge.h"

#include <algorithm>

#include "base/text.h"
#include "http/headers.h"

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
  Challenge challenge{.scheme = base::ToLower(scanner.Token()), .parameters = {}};
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

}  // namespace prefetch::registry
