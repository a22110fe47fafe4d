#include "registry/challenge.h"

#include <algorithm>

#include "base/text.h"
#include "http/headers.h"

namespace prefetch::registry {
namespace {

// Limits on hostile input (R39). Real challenges are a few hundred bytes with four parameters at most.
constexpr std::size_t kMaxChallengeBytes = 8 * 1024;
constexpr std::size_t kMaxParameters = 16;

bool IsBlank(char c) {
  return c == ' ' || c == '\t';
}

// Reads from the front of a field.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool AtEnd() const { return rest_.empty(); }
  bool Next(char c) const { return !rest_.empty() && rest_.front() == c; }
  void Skip(std::size_t n = 1) { rest_.remove_prefix(std::min(n, rest_.size())); }
  void SkipBlanks() {
    while (!rest_.empty() && IsBlank(rest_.front())) Skip();
  }
  void SkipBlanksAndCommas() {
    while (!rest_.empty() && (IsBlank(rest_.front()) || rest_.front() == ',')) Skip();
  }

  // A token of RFC 9110; empty if there is none.
  std::string_view Token() {
    std::size_t size = 0;
    while (size < rest_.size() && http::IsFieldName(rest_.substr(size, 1))) size++;
    return Take(size);
  }
  // Reads an unquoted value. Registries send more characters than the grammar allows, so it extends to a
  // blank or a comma.
  std::string Bare() {
    std::size_t size = 0;
    while (size < rest_.size() && !IsBlank(rest_[size]) && rest_[size] != ',') size++;
    return std::string(Take(size));
  }
  // nullopt: the quote is not closed.
  std::optional<std::string> Quoted() {
    std::string value;
    Skip();
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1) Skip();
      value += rest_.front();
      Skip();
    }
    if (rest_.empty()) return std::nullopt;
    Skip();
    return value;
  }
  Scanner Copy() const { return *this; }

 private:
  std::string_view Take(std::size_t size) {
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

enum class Read { kParameter, kNone, kBroken };

// Reads `name = value`. If there is none, the scanner stays where it is: the next word is then the scheme of
// the next challenge. The grammar forbids blanks around "=", but some servers send them.
Read ReadParameter(Scanner& scanner, Challenge& challenge) {
  Scanner ahead = scanner.Copy();
  std::string name = base::ToLower(ahead.Token());
  ahead.SkipBlanks();
  if (name.empty() || !ahead.Next('=')) return Read::kNone;
  ahead.Skip();
  ahead.SkipBlanks();
  std::optional<std::string> value = ahead.Next('"') ? ahead.Quoted() : ahead.Bare();
  if (!value) return Read::kBroken;
  challenge.parameters.emplace_back(std::move(name), std::move(*value));
  scanner = ahead;
  return Read::kParameter;
}

base::Error Broken(std::string_view why) {
  return base::InvalidArgument("the registry's WWW-Authenticate " + std::string(why));
}

}  // namespace

std::string_view Challenge::Get(std::string_view name) const {
  for (const auto& parameter : parameters) {
    if (parameter.first == name) return parameter.second;
  }
  return {};
}

base::Result<std::vector<Challenge>> ParseChallenges(std::string_view field) {
  if (field.size() > kMaxChallengeBytes) return Broken("is too long");
  std::vector<Challenge> challenges;
  std::size_t parameters = 0;
  Scanner scanner(field);
  for (scanner.SkipBlanksAndCommas(); !scanner.AtEnd(); scanner.SkipBlanksAndCommas()) {
    Challenge challenge{.scheme = base::ToLower(scanner.Token()), .parameters = {}};
    if (challenge.scheme.empty()) {  // Skips token68 and other credentials that no registry uses.
      if (scanner.Next('"') && !scanner.Quoted()) return Broken("has an open quote");
      if (scanner.Bare().empty()) scanner.Skip();
      continue;
    }
    while (true) {
      scanner.SkipBlanksAndCommas();
      Read read = ReadParameter(scanner, challenge);
      if (read == Read::kBroken) return Broken("has an open quote");
      if (read == Read::kNone) break;
      if (++parameters > kMaxParameters) return Broken("has too many parameters");
    }
    challenges.push_back(std::move(challenge));
  }
  return challenges;
}

base::Result<std::optional<Challenge>> ChooseChallenge(const std::vector<std::string_view>& fields) {
  std::optional<Challenge> chosen;
  for (std::string_view field : fields) {
    auto challenges = ParseChallenges(field);
    if (!challenges) return std::move(challenges).error();
    for (Challenge& challenge : *challenges) {
      // Bearer wins over Basic (R14): a password then goes to the token service only.
      bool better = challenge.scheme == "bearer" ? !chosen || chosen->scheme != "bearer"
                                                 : challenge.scheme == "basic" && !chosen;
      if (better) chosen = std::move(challenge);
    }
  }
  if (chosen && chosen->scheme == "bearer" && chosen->Get("realm").empty()) return Broken("names no realm");
  return chosen;
}

}  // namespace prefetch::registry
