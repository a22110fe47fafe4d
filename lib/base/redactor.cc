#include "base/redactor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>

#include "base/mutex.h"
#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kRun = 12;            // the shortest part of a secret that is redacted
constexpr std::size_t kShortestSecret = 3;  // shorter ones would blank half of the text
constexpr std::size_t kShortestEnd = 4;     // of a secret that a limit has cut
constexpr std::size_t kMostText = 64 * 1024;
constexpr std::size_t kShortestCredential = 8;  // that is taken for one by its scheme alone
constexpr std::size_t kShortestToken = 32;      // names of hosts and folders are shorter
constexpr int kMostLayers = 4;                  // of escapes: JSON in JSON in a URL

// Text, and for each byte the range of the original text that it was made of.
struct View {
  std::string text;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> from;

  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  View(View&&) = default;
  View& operator=(View&& other) noexcept {
    WipeString(text);
    text.swap(other.text);
    from.swap(other.from);
    return *this;
  }
  ~View() { WipeString(text); }

  void Add(char c, std::uint32_t begin, std::uint32_t end) {
    text += c;
    from.emplace_back(begin, end);
  }
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

bool IsEncoded(char c) {
  return Base64Digit(c) >= 0 || c == '=';
}

// The byte that `digits` hex digits at `at` stand for; -1: none.
int HexAt(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  if (at + digits > text.size()) return -1;
  for (std::size_t i = at; i < at + digits; i++) {
    if (HexDigit(text[i]) < 0) return -1;
    value = value * 16 + HexDigit(text[i]);
  }
  return value < 256 ? value : -1;
}

constexpr std::array<std::pair<std::string_view, char>, 6> kHtml = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&#34;", '"'}}};

struct Unit {
  int value;  // -1: the escape stands for a character that is left out
  std::size_t length;
};

// The next character, with one layer of escapes undone. Backslashes, line ends and other control characters
// are left out, since escapes differ in them most.
Unit NextUnit(std::string_view rest) {
  const char c = rest.front();
  if (static_cast<unsigned char>(c) < 0x20) return {-1, 1};
  if (c == '%' && HexAt(rest, 1, 2) >= 0) return {HexAt(rest, 1, 2), 3};
  if (c == '&') {
    for (const auto& [name, value] : kHtml) {
      if (rest.starts_with(name)) return {value, name.size()};
    }
  }
  if (c != '\\' || rest.size() < 2) return {c == '\\' ? -1 : static_cast<unsigned char>(c), 1};
  if (rest[1] == 'u' && HexAt(rest, 2, 4) >= 0) return {HexAt(rest, 2, 4), 6};
  if (rest[1] == 'x' && HexAt(rest, 2, 2) >= 0) return {HexAt(rest, 2, 2), 4};
  const bool control = std::string_view("nrtbf").find(rest[1]) != std::string_view::npos;
  return {-1, control ? 2U : 1U};
}

// Undoes escapes until none is left. Secrets go the same way, so that one with a "%41" is found as well.
View WithoutEscapes(std::string_view text) {
  View now;
  for (std::size_t i = 0; i < text.size(); i++) {
    now.Add(text[i], static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1));
  }
  for (int layer = 0; layer < kMostLayers; layer++) {
    View next;
    next.text.reserve(now.text.size());
    for (std::size_t i = 0; i < now.text.size();) {
      const Unit unit = NextUnit(std::string_view(now.text).substr(i));
      if (unit.value >= 0) {
        next.Add(static_cast<char>(unit.value), now.from[i].first, now.from[i + unit.length - 1].second);
      }
      i += unit.length;
    }
    const bool last = next.text.size() == now.text.size();
    now = std::move(next);
    if (last) break;
  }
  return now;
}

// Without differences that encodings make: case, the alphabets of base64, a "+" for a blank.
char Folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (c == '+' || c == ' ') return '-';
  return c == '_' ? '/' : c;
}

// The bytes that each run of hex digits stands for, beginning with its digit `phase`.
View DecodedHex(const View& of, std::size_t phase) {
  View out;
  std::size_t i = 0;
  while (i < of.text.size()) {
    if (HexDigit(of.text[i]) < 0) {
      out.Add('\0', of.from[i].first, of.from[i].first);
      i++;
      continue;
    }
    std::size_t end = i;
    while (end < of.text.size() && HexDigit(of.text[end]) >= 0) end++;
    for (i += phase; i + 1 < end; i += 2) {
      out.Add(static_cast<char>(HexDigit(of.text[i]) * 16 + HexDigit(of.text[i + 1])), of.from[i].first,
              of.from[i + 1].second);
    }
    i = end;
  }
  return out;
}

// The same for base64.
View DecodedBase64(const View& of, std::size_t phase) {
  View out;
  std::size_t i = 0;
  while (i < of.text.size()) {
    if (Base64Digit(of.text[i]) < 0) {
      out.Add('\0', of.from[i].first, of.from[i].first);
      i++;
      continue;
    }
    std::size_t end = i;
    while (end < of.text.size() && Base64Digit(of.text[end]) >= 0) end++;
    unsigned bits = 0;
    int count = 0;
    for (i = std::min(i + phase, end); i < end; i++) {
      bits = (bits << 6U) | static_cast<unsigned>(Base64Digit(of.text[i]));
      count += 6;
      if (count < 8) continue;
      count -= 8;
      out.Add(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU), of.from[i - 1].first,
              of.from[i].second);
    }
    i = end;
  }
  return out;
}

std::uint64_t HashBase() {
  static const std::uint64_t base =
      (std::uint64_t{std::random_device()()} << 32U | std::random_device()()) | 1U;
  return base;
}

// Calls use(position, hash) for each run of kRun characters.
template <typename Use>
void ForEachRun(std::string_view text, Use use) {
  const std::uint64_t base = HashBase();
  std::uint64_t power = 1, hash = 0;
  for (std::size_t i = 0; i < kRun; i++) power *= base;
  for (std::size_t i = 0; i < text.size(); i++) {
    hash = hash * base + static_cast<unsigned char>(text[i]) + 1;
    if (i >= kRun) hash -= power * (static_cast<unsigned char>(text[i - kRun]) + std::uint64_t{1});
    if (i + 1 >= kRun) use(i + 1 - kRun, hash);
  }
}

std::string Folded(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return Folded(c); });
  return out;
}

// Calls use(form) with a secret as it is, and without escapes, both folded.
template <typename Use>
void ForEachForm(std::string_view secret, Use use) {
  std::string form = Folded(secret);
  use(form);
  View view = WithoutEscapes(secret);
  std::string other = Folded(view.text);
  if (other != form) use(other);
  WipeString(form);
  WipeString(other);
}

// The parts of a text that are secret.
class Marks {
 public:
  explicit Marks(std::string_view text) : text_(text), secret_(text.size(), false) {
    View plain = WithoutEscapes(text), raw;
    for (std::size_t i = 0; i < text.size(); i++) {
      raw.Add(text[i], static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1));
    }
    for (std::size_t phase = 0; phase < 4; phase++) views_.push_back(DecodedBase64(plain, phase));
    for (std::size_t phase = 0; phase < 2; phase++) views_.push_back(DecodedHex(plain, phase));
    decoded_ = views_.size();
    views_.push_back(std::move(plain));
    views_.push_back(std::move(raw));
    for (View& view : views_) {
      for (char& c : view.text) c = Folded(c);
      ForEachRun(view.text, [&](std::size_t, std::uint64_t hash) { runs_.push_back({hash, false}); });
    }
    std::sort(runs_.begin(), runs_.end());
    runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
  }

  // `folded` is one of ForEachForm's.
  void Add(std::string_view folded) {
    if (folded.size() < kShortestSecret) return;
    ForEachRun(folded, [&](std::size_t, std::uint64_t hash) {
      auto found = std::lower_bound(runs_.begin(), runs_.end(), std::pair(hash, false));
      if (found != runs_.end() && found->first == hash) found->second = true;
    });
    for (std::size_t i = 0; i < views_.size(); i++) {
      // Decoded words hold any three bytes by chance.
      if (i < decoded_ && folded.size() < kShortestEnd) continue;
      if (folded.size() < kRun) AddWhole(views_[i], folded);
      AddCut(views_[i], folded);
    }
  }

  std::string Redacted() {
    for (const View& view : views_) {
      ForEachRun(view.text, [&](std::size_t at, std::uint64_t hash) {
        auto found = std::lower_bound(runs_.begin(), runs_.end(), std::pair(hash, false));
        if (found->second) Mark(view, at, at + kRun);
      });
    }
    std::string out;
    for (std::size_t i = 0; i < text_.size(); i++) {
      if (!secret_[i]) {
        out += text_[i];
      } else if (i == 0 || !secret_[i - 1]) {
        out += kRedacted;
      }
    }
    return out;
  }

 private:
  void Mark(const View& view, std::size_t begin, std::size_t end) {
    std::size_t first = view.from[begin].first, last = view.from[end - 1].second;
    std::fill(secret_.begin() + static_cast<std::ptrdiff_t>(first),
              secret_.begin() + static_cast<std::ptrdiff_t>(last), true);
    if (&view >= &views_[decoded_]) return;
    // The rest of the encoded word goes as well: a user name, bits at the seams, padding.
    for (; last < text_.size() && IsEncoded(text_[last]); last++) secret_[last] = true;
    for (; first > 0 && IsEncoded(text_[first - 1]); first--) secret_[first - 1] = true;
  }

  void AddWhole(const View& view, std::string_view folded) {
    for (std::size_t at = view.text.find(folded); at != std::string::npos;
         at = view.text.find(folded, at + 1)) {
      Mark(view, at, at + folded.size());
    }
  }

  // A beginning of the secret that ends the text.
  void AddCut(const View& view, std::string_view folded) {
    const std::string_view text = view.text;
    for (std::size_t length = std::min({folded.size() - 1, text.size(), kRun - 1}); length >= kShortestEnd;
         length--) {
      if (!text.ends_with(folded.substr(0, length))) continue;
      return Mark(view, text.size() - length, text.size());
    }
  }

  std::string_view text_;
  std::vector<bool> secret_;
  std::vector<View> views_;
  std::size_t decoded_ = 0;  // the number of views that are decoded; these come first
  std::vector<std::pair<std::uint64_t, bool>> runs_;  // hashes of all views, and whether a secret has it
};

// The parts of a value that are secrets by themselves.
template <typename Use>
void ForEachPart(std::string_view secret, Use use) {
  for (std::string_view scheme : {"bearer ", "basic "}) {
    if (secret.size() <= scheme.size() || !EqualsIgnoreCase(secret.substr(0, scheme.size()), scheme))
      continue;
    secret.remove_prefix(scheme.size());
    use(secret);
    std::optional<std::string> pair = Base64Decode(secret);
    if (scheme != "basic " || !pair) return;
    use(std::string_view(*pair).substr(std::min(pair->find(':') + 1, pair->size())));
    WipeString(*pair);
    return;
  }
  use(secret);
}

class Store {
 public:
  // `form` is one of ForEachForm's.
  void Add(std::string_view form) PREFETCH_EXCLUDES(mutex_) {
    Secret folded{std::string(form.substr(0, kMostRememberedBytes))};
    if (folded.Reveal().size() < kShortestSecret) return;
    Lock lock(mutex_);
    auto known = std::find_if(secrets_.begin(), secrets_.end(),
                              [&](const Secret& one) { return one.Reveal() == folded.Reveal(); });
    if (known != secrets_.end()) {
      std::rotate(known, known + 1, secrets_.end());
      return;
    }
    bytes_ += folded.Reveal().size();
    secrets_.push_back(std::move(folded));
    while (secrets_.size() > kMostRememberedSecrets || bytes_ > kMostRememberedBytes) {
      bytes_ -= secrets_.front().Reveal().size();
      secrets_.pop_front();
    }
  }

  void MarkIn(Marks& marks) PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    for (const Secret& secret : secrets_) marks.Add(secret.Reveal());
  }

 private:
  Mutex mutex_;
  std::deque<Secret> secrets_ PREFETCH_GUARDED_BY(mutex_);  // folded; the newest is the last
  std::size_t bytes_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

Store& Secrets() {
  static Store* store = new Store;  // lives as long as detached threads do
  return *store;
}

// Every JSON Web Token begins like this ("{\"" in base64).
std::string WithoutWebTokens(std::string text) {
  constexpr std::string_view kBegin = "eyJ";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" \"'\\,;", at), text.size());
    text.replace(at, end - at, kRedacted);
  }
  return text;
}

constexpr std::array<std::string_view, 9> kTellingWords = {"password", "passwd",        "token",
                                                           "secret",   "authorization", "credential",
                                                           "api_key",  "apikey",        "access_key"};

// The text without the words after "password:", "token=" and the like, also in JSON that is escaped.
std::string WithoutToldSecrets(std::string_view text) {
  std::string out;
  const std::string lower = ToLower(text);
  std::size_t at = 0;
  while (true) {
    std::size_t found = std::string::npos, after = 0;
    for (std::string_view word : kTellingWords) {
      std::size_t next = lower.find(word, at);
      if (next >= found) continue;
      found = next;
      after = next + word.size();
    }
    if (found == std::string::npos) return out + std::string(text.substr(at));
    std::size_t value = text.find_first_not_of("\\\"' :=", after);
    bool assigned = value != std::string_view::npos &&
                    text.substr(after, value - after).find_first_of(":=") != std::string_view::npos;
    if (!assigned) value = after;
    out += text.substr(at, value - at);
    at = value;
    if (!assigned) continue;
    for (std::string_view scheme : {"bearer ", "basic "}) {
      if (std::string_view(lower).substr(at).starts_with(scheme)) at += scheme.size();
    }
    at = std::min(text.find_first_of(" \\\"',;}", at), text.size());
    out += kRedacted;
  }
}

// The text without the word after "Basic" or "Bearer", if it may be a credential.
std::string WithoutSchemes(std::string_view text) {
  std::string out;
  const std::string lower = ToLower(text);
  std::size_t at = 0;
  while (at < text.size()) {
    for (std::string_view scheme : {"bearer ", "basic "}) {
      if (!std::string_view(lower).substr(at).starts_with(scheme)) continue;
      const std::size_t begin = at + scheme.size();
      const std::size_t end = std::min(text.find_first_of(" \\\"',;}", begin), text.size());
      if (end - begin < kShortestCredential || text[begin] == '[') continue;
      out.append(text.substr(at, scheme.size())).append(kRedacted);
      at = end;
    }
    if (at < text.size()) out += text[at++];
  }
  return out;
}

// The text without long runs that look like tokens or keys.
std::string WithoutLongTokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), IsEncoded) - text.begin());
    const std::string_view run = text.substr(0, length);
    auto has = [&](char first, char last) {
      return std::any_of(run.begin(), run.end(), [&](char c) { return c >= first && c <= last; });
    };
    // Paths have slashes and digits as well, and seldom capitals.
    const bool mixed =
        has('0', '9') && (run.find('/') == std::string_view::npos ? has('a', 'z') || has('A', 'Z')
                                                                  : has('a', 'z') && has('A', 'Z'));
    out += length >= kShortestToken && mixed ? kRedacted : run;
    text.remove_prefix(length);
    if (text.empty()) break;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace

void RememberSecret(const Secret& secret) {
  ForEachPart(secret.Reveal(), [](std::string_view part) {
    ForEachForm(part, [](std::string_view form) { Secrets().Add(form); });
  });
}

std::string Redact(std::string_view text, const std::vector<const Secret*>& also) {
  Marks marks(text.substr(0, kMostText));
  Secrets().MarkIn(marks);
  for (const Secret* secret : also) {
    if (secret == nullptr) continue;
    ForEachPart(secret->Reveal(), [&](std::string_view part) {
      ForEachForm(part, [&](std::string_view form) { marks.Add(form); });
    });
  }
  return marks.Redacted();
}

std::string ForeignText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also) {
  return Truncate(InOneLine(WithoutUrlSecrets(WithoutWebTokens(Redact(text, also)))), bytes);
}

bool TellsOfASecret(std::string_view name) {
  return std::any_of(kTellingWords.begin(), kTellingWords.end(),
                     [&](std::string_view word) { return ContainsIgnoreCase(name, word); });
}

std::string PluginText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also) {
  const std::string clean = InOneLine(WithoutUrlSecrets(WithoutWebTokens(Redact(text, also))));
  return Truncate(WithoutLongTokens(WithoutSchemes(WithoutToldSecrets(clean))), bytes);
}

}  // namespace prefetch::base
