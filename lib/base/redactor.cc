#include "base/redactor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "base/mutex.h"
#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::base {

namespace {

// Decodes a text in each way that may hide a secret. Pure.

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

constexpr int kMostLayers = 4;  // of escapes: JSON in JSON in a URL

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

// Returns the byte that `digits` hex digits at `at` stand for; -1 if they stand for none.
int HexAt(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  if (at + digits > text.size()) return -1;
  for (std::size_t i = at; i < at + digits; i++) {
    if (HexDigit(text[i]) < 0) return -1;
    value = value * 16 + HexDigit(text[i]);
  }
  return value;
}

constexpr std::array<std::pair<std::string_view, char>, 5> kHtml = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
constexpr std::size_t kLongestHtml = 8;  // "1114111;"

// The bytes that `length` bytes of the text stand for: none if the escape is left out.
struct Unit {
  std::string bytes;
  std::size_t length;
};

std::string Utf8(unsigned point) {
  std::string bytes;
  AppendUtf8(bytes, point);
  return bytes;
}

// "&#43;" and "&#x2B;".
std::optional<Unit> NumericEntity(std::string_view rest) {
  if (!rest.starts_with("&#")) return std::nullopt;
  const bool hex = rest.size() > 2 && (rest[2] == 'x' || rest[2] == 'X');
  const std::size_t begin = std::min(rest.find_first_not_of('0', hex ? 3 : 2), rest.size());
  const std::size_t length = rest.substr(begin, kLongestHtml).find(';');
  if (length == std::string_view::npos) return std::nullopt;
  const std::size_t end = begin + length;
  const std::string_view digits = rest.substr(begin, length);
  unsigned point = 0;
  for (char c : digits) {
    if (HexDigit(c) < 0 || (!hex && HexDigit(c) > 9)) return std::nullopt;
    point = point * (hex ? 16 : 10) + static_cast<unsigned>(HexDigit(c));
  }
  if (end == (hex ? 3U : 2U) || point > 0x10ffff) return std::nullopt;
  return Unit{Utf8(point), end + 1};
}

// "\u00e4", and the pair of them that stands for a character beyond 16 bits.
Unit JsonEscape(std::string_view rest) {
  const auto unit = static_cast<unsigned>(HexAt(rest, 2, 4));
  if (unit >= 0xd800 && unit < 0xdc00 && rest.substr(6).starts_with("\\u") && HexAt(rest, 8, 4) >= 0xdc00) {
    return {Utf8(0x10000 + ((unit - 0xd800) << 10U) + (static_cast<unsigned>(HexAt(rest, 8, 4)) - 0xdc00)),
            12};
  }
  return {Utf8(unit), 6};
}

// Returns whether the text is nothing but the beginning of an escape, which a limit has cut.
bool IsCutEscape(std::string_view rest) {
  const auto cut = [&](std::string_view begin, std::size_t digits) {
    return rest.starts_with(begin) && rest.size() < begin.size() + digits &&
           std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(begin.size()), rest.end(),
                       [](char c) { return HexDigit(c) >= 0; });
  };
  return cut("%", 2) || cut("\\u", 4) || cut("\\x", 2) || cut("&#", 4) || cut("&#x", 4) ||
         std::any_of(kHtml.begin(), kHtml.end(), [&](const auto& one) {
           return rest.size() < one.first.size() && one.first.starts_with(rest);
         });
}

// Returns the next character, with one layer of escapes undone. Backslashes, line ends and other control
// characters are left out, since escapes differ in them most.
Unit NextUnit(std::string_view rest) {
  const char c = rest.front();
  if (rest.size() < 8 && IsCutEscape(rest)) return {"", rest.size()};
  if (static_cast<unsigned char>(c) < 0x20) return {"", 1};
  if (c == '%' && HexAt(rest, 1, 2) >= 0) return {{static_cast<char>(HexAt(rest, 1, 2))}, 3};
  if (c == '&') {
    for (const auto& [name, value] : kHtml) {
      if (rest.starts_with(name)) return {{value}, name.size()};
    }
    if (auto entity = NumericEntity(rest)) return *std::move(entity);
  }
  if (c == '\\' && rest.size() < 2) return {"", 1};
  if (c != '\\') return {{c}, 1};
  if (rest[1] == 'u' && HexAt(rest, 2, 4) >= 0) return JsonEscape(rest);
  if (rest[1] == 'x' && HexAt(rest, 2, 2) >= 0) return {{static_cast<char>(HexAt(rest, 2, 2))}, 4};
  const bool control = std::string_view("nrtbf").find(rest[1]) != std::string_view::npos;
  return {"", control ? 2U : 1U};
}

// May the character be a part of base64 or hex?
bool IsEncoded(char c) {
  return Base64Digit(c) >= 0 || c == '=';
}

// Returns the text, undecoded.
View IdentityView(std::string_view text) {
  View view;
  for (std::size_t i = 0; i < text.size(); i++) {
    view.Add(text[i], static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1));
  }
  return view;
}

// Undoes escapes of URLs, JSON, Go and HTML until none is left. Leaves out backslashes and control
// characters, since escapes differ in them most. Secrets go the same way, so that one with a "%41" is found
// as well.
View WithoutEscapes(const View& of) {
  View last;
  for (int layer = 0; layer < kMostLayers; layer++) {
    const View& now = layer == 0 ? of : last;
    View next;
    next.text.reserve(now.text.size());
    for (std::size_t i = 0; i < now.text.size();) {
      const Unit unit = NextUnit(std::string_view(now.text).substr(i));
      // Each byte remembers the range of the original text, so that a find in a decoded view can be redacted
      // in the original.
      for (char byte : unit.bytes) next.Add(byte, now.from[i].first, now.from[i + unit.length - 1].second);
      i += unit.length;
    }
    // A layer that changes nothing has undone nothing, so no further layer can.
    const bool same = next.text == now.text;
    last = std::move(next);
    if (same) break;
  }
  return last;
}

// Removes differences that encodings make: case, the alphabets of base64, a "+" for a blank. Text and secrets
// are folded alike. A difference that is lost here can only redact too much.
char Folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (c == '+' || c == ' ') return '-';
  return c == '_' ? '/' : c;
}

// Calls use(begin, end) for each run of at least `shortest` digits. A zero byte stands for all else.
template <typename IsDigit, typename Use>
void ForEachWord(const View& of, View& out, std::size_t shortest, IsDigit is_digit, Use use) {
  for (std::size_t i = 0; i < of.text.size();) {
    std::size_t end = i;
    while (end < of.text.size() && is_digit(of.text[end])) end++;
    if (end - i >= shortest) {
      use(i, end);
    } else if (out.text.empty() || out.text.back() != '\0') {
      out.Add('\0', of.from[i].first, of.from[i].first);
    }
    i = std::max(end, i + 1);
  }
}

// The bytes that each run of hex digits stands for, beginning with its digit `phase` (0 or 1). A zero byte
// stands between runs, and for runs of fewer than `shortest` digits.
View DecodedHex(const View& of, std::size_t phase, std::size_t shortest) {
  View out;
  ForEachWord(
      of, out, shortest, [](char c) { return HexDigit(c) >= 0; },
      [&](std::size_t begin, std::size_t end) {
        // A secret may begin at either digit of a run, so the caller decodes with both phases.
        for (std::size_t i = begin + phase; i + 1 < end; i += 2) {
          out.Add(static_cast<char>(HexDigit(of.text[i]) * 16 + HexDigit(of.text[i + 1])), of.from[i].first,
                  of.from[i + 1].second);
        }
      });
  return out;
}

// The same for base64 of any alphabet; `phase` is 0 to 3.
View DecodedBase64(const View& of, std::size_t phase, std::size_t shortest) {
  View out;
  ForEachWord(
      of, out, shortest, [](char c) { return Base64Digit(c) >= 0; },
      [&](std::size_t begin, std::size_t end) {
        unsigned bits = 0;
        int count = 0;
        // Base64 packs three bytes in four digits. A secret inside of a longer word may begin at any of the
        // four.
        for (std::size_t i = std::min(begin + phase, end); i < end; i++) {
          bits = (bits << 6U) | static_cast<unsigned>(Base64Digit(of.text[i]));
          count += 6;
          if (count < 8) continue;
          count -= 8;
          out.Add(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU), of.from[i - 1].first,
                  of.from[i].second);
        }
      });
  return out;
}

// Decodes once in each of these ways.
std::vector<View> Decoded(const View& of, std::size_t shortest = 1) {
  std::vector<View> views;
  for (std::size_t phase = 0; phase < 4; phase++) views.push_back(DecodedBase64(of, phase, shortest));
  for (std::size_t phase = 0; phase < 2; phase++) views.push_back(DecodedHex(of, phase, shortest));
  return views;
}

constexpr std::size_t kRun = 12;               // the shortest part of a secret that is redacted
constexpr std::size_t kShortestSecret = 3;     // shorter ones would blank half of the text
constexpr std::size_t kShortestEnd = 4;        // of a secret that a limit has cut
constexpr std::size_t kMostText = 16 * 1024;   // decoded twice, it takes 16 MiB of memory
constexpr std::size_t kLongText = 1024;        // 1 MiB of memory
constexpr std::size_t kMaxSecretBytes = 8192;  // a long one must not push out many others
constexpr std::size_t kMaxExtraSecrets = 512;  // secrets that are searched for beside those of the store
constexpr std::size_t kShortestWord = 6;       // base64 of kShortestEnd characters

// A random base, so that nobody can prepare texts whose runs collide with those of a secret.
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

std::string FoldedText(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return Folded(c); });
  return out;
}

// Calls use(form) with a secret as it is, and without escapes, both folded.
template <typename Use>
void ForEachForm(std::string_view secret, Use use) {
  std::string form = FoldedText(secret);
  use(form);
  View view = WithoutEscapes(IdentityView(secret));
  std::string other = FoldedText(view.text);
  if (other != form) use(other);
  WipeString(form);
  WipeString(other);
}

// The parts of a text that are secret. The text is decoded in each way that may hide a secret, and all runs
// of kRun characters are hashed once. A secret then costs one lookup for each of its runs, however long the
// text is.
class SecretMatcher {
 public:
  explicit SecretMatcher(std::string_view text)
      : text_(text), secret_(text.size(), false), in_word_(text.size(), false) {
    View plain = WithoutEscapes(IdentityView(text)), raw = IdentityView(text);
    std::vector<View> once = Decoded(plain);
    for (const View& decoded : once) {
      // Base64 of base64, and of hex. Few words of a decoded text look encoded by chance.
      for (View& view : Decoded(decoded, kShortestWord)) views_.push_back(std::move(view));
      views_.push_back(WithoutEscapes(decoded));  // base64 of a URL or of JSON
    }
    for (View& view : once) views_.push_back(std::move(view));
    decoded_ = views_.size();
    views_.push_back(std::move(plain));
    views_.push_back(std::move(raw));
    for (View& view : views_) {
      for (char& c : view.text) c = Folded(c);
      ForEachRun(view.text, [&](std::size_t, std::uint64_t hash) { runs_.emplace_back(hash, false); });
    }
    std::sort(runs_.begin(), runs_.end());
    runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
  }

  // `folded` is one of ForEachForm's.
  void Add(std::string_view folded) {
    // A secret of one or two characters would remove half of every text.
    if (folded.size() < kShortestSecret) return;
    // Equal hashes count as equal runs. A collision redacts a part too much, which harms nobody.
    ForEachRun(folded, [&](std::size_t, std::uint64_t hash) {
      auto found = std::lower_bound(runs_.begin(), runs_.end(), std::pair(hash, false));
      if (found != runs_.end() && found->first == hash) found->second = true;
    });
    for (std::size_t i = 0; i < views_.size(); i++) {
      // Decoded words contain any three bytes by chance.
      if (i < decoded_ && folded.size() < kShortestEnd) continue;
      // A short secret has no run of its own, so it is searched for as a whole.
      if (folded.size() < kRun) AddWhole(views_[i], folded);
      AddCut(views_[i], folded);
    }
  }

  // Returns the text with kRedacted in place of each secret part.
  std::string Redacted() {
    for (const View& view : views_) {
      ForEachRun(view.text, [&](std::size_t at, std::uint64_t hash) {
        auto found = std::lower_bound(runs_.begin(), runs_.end(), std::pair(hash, false));
        if (found->second) Mark(view, at, at + kRun);
      });
    }
    MarkWords();
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
    std::fill(in_word_.begin() + static_cast<std::ptrdiff_t>(first),
              in_word_.begin() + static_cast<std::ptrdiff_t>(last), true);
  }

  // The rest of an encoded word is redacted as well: it has the user name, bits at the seams and padding.
  // This is done once, after all finds, since a text may be one long word that is full of them.
  void MarkWords() {
    const auto grow = [&](std::size_t at, bool beside) {
      if (beside && IsEncoded(text_[at])) in_word_[at] = true;
      if (in_word_[at]) secret_[at] = true;
      return static_cast<bool>(in_word_[at]);
    };
    bool beside = false;
    for (std::size_t i = 0; i < text_.size(); i++) beside = grow(i, beside);
    beside = false;
    for (std::size_t i = text_.size(); i > 0; i--) beside = grow(i - 1, beside);
  }

  void AddWhole(const View& view, std::string_view folded) {
    for (std::size_t at = view.text.find(folded); at != std::string::npos;
         at = view.text.find(folded, at + 1)) {
      Mark(view, at, at + folded.size());
    }
  }

  // Marks a beginning of the secret that ends the text, where a limit may have cut it. Longer beginnings have
  // a whole run, and are found by it.
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
  std::vector<bool> in_word_;  // found in an encoded word
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
    // A Basic header holds "user:password". The password is a secret of its own: a server may repeat it
    // without the rest.
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
  // `form` is one of ForEachForm's. Returns false if it is not there. A secret that is still in use moves to
  // the end, so that the bound forgets the oldest ones.
  bool Renew(std::string_view form) PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return RenewLocked(form);
  }

  void Add(std::string_view form) PREFETCH_EXCLUDES(mutex_) {
    if (form.size() < kShortestSecret) return;
    auto folded = std::make_shared<const Secret>(std::string(form));
    Lock lock(mutex_);
    if (RenewLocked(form)) return;
    bytes_ += form.size();
    secrets_.push_back(std::move(folded));
    // Both limits bound memory, and the time of each Redact, which goes through all secrets.
    while (secrets_.size() > kMostRememberedSecrets || bytes_ > kMostRememberedBytes) {
      bytes_ -= secrets_.front()->Reveal().size();
      secrets_.pop_front();
    }
  }

  // Searches without the lock, which each request that sends a secret needs.
  void MarkIn(SecretMatcher& marks) PREFETCH_EXCLUDES(mutex_) {
    std::vector<std::shared_ptr<const Secret>> all;
    {
      Lock lock(mutex_);
      all.assign(secrets_.begin(), secrets_.end());
    }
    for (const auto& secret : all) marks.Add(secret->Reveal());
  }

 private:
  bool RenewLocked(std::string_view form) PREFETCH_REQUIRES(mutex_) {
    const auto known = std::find_if(secrets_.begin(), secrets_.end(),
                                    [&](const auto& one) { return one->Reveal() == form; });
    if (known == secrets_.end()) return false;
    std::rotate(known, known + 1, secrets_.end());
    return true;
  }

  Mutex mutex_;
  // Folded secrets, the newest last.
  std::deque<std::shared_ptr<const Secret>> secrets_ PREFETCH_GUARDED_BY(mutex_);
  std::size_t bytes_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

// Secrets that registries and plugins hand out have a store of their own. However many there are, they never
// push out those of the node's configuration.
struct Stores {
  Store own, received;
};

Stores& Secrets() {
  static auto* stores = new Stores;  // lives as long as detached threads do
  return *stores;
}

// Returns the longest of the secrets, kMaxExtraSecrets at most. A plugin may write a hundred thousand short
// ones, and the search for each of them costs as much as for a long one.
std::vector<const Secret*> Longest(std::vector<const Secret*> secrets) {
  std::erase(secrets, nullptr);
  if (secrets.size() <= kMaxExtraSecrets) return secrets;
  std::nth_element(secrets.begin(), secrets.begin() + kMaxExtraSecrets, secrets.end(),
                   [](const Secret* a, const Secret* b) { return a->Reveal().size() > b->Reveal().size(); });
  secrets.resize(kMaxExtraSecrets);
  return secrets;
}

}  // namespace

void RememberSecret(const Secret& secret, SecretOrigin origin) {
  ForEachPart(secret.Reveal(), [&](std::string_view part) {
    ForEachForm(part.substr(0, kMaxSecretBytes), [&](std::string_view form) {
      if (origin == SecretOrigin::kSent && Secrets().own.Renew(form)) return;
      (origin == SecretOrigin::kOwn ? Secrets().own : Secrets().received).Add(form);
    });
  });
}

std::string Redact(std::string_view text, const std::vector<const Secret*>& also) {
  const LargeTextLock turn(text.size(), kLongText);
  // The rest of a longer text is dropped, not passed on: it was not searched.
  SecretMatcher marks(text.substr(0, kMostText));
  Secrets().own.MarkIn(marks);
  Secrets().received.MarkIn(marks);
  for (const Secret* secret : Longest(also)) {
    ForEachPart(secret->Reveal(), [&](std::string_view part) {
      ForEachForm(part, [&](std::string_view form) { marks.Add(form); });
    });
  }
  return marks.Redacted();
}

LargeTextLock::LargeTextLock(std::size_t bytes, std::size_t large, Writer writer) {
  static auto* turns = new std::recursive_mutex[2];  // lives as long as detached threads do
  if (bytes > large) lock_ = std::unique_lock(turns[writer == Writer::kApiServer ? 1 : 0]);
}

namespace {

constexpr std::size_t kShortestCredential = 8;  // that is taken for one by its scheme alone
constexpr std::size_t kShortestValue = 6;       // of a variable that may be a secret
constexpr std::size_t kShortestToken = 32;      // names of hosts and folders are shorter

bool MayBeInAToken(char c) {
  return IsAlphanumeric(c) || std::string_view("+/_=-").find(c) != std::string_view::npos;
}

constexpr std::size_t kShortestWebToken =
    16;  // one that is cut below this length shows only a part of its header

// Every JSON Web Token begins with "eyJ", which is `{"` in base64. Other words may have it, too ("keyJson").
std::string WithoutWebTokens(std::string text) {
  constexpr std::string_view kBegin = "eyJ";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" \"'\\,;", at), text.size());
    if (end - at >= kShortestWebToken) text.replace(at, end - at, kRedacted);
  }
  return text;
}

constexpr std::array<std::string_view, 9> kSecretWords = {"password", "passwd",        "token",
                                                          "secret",   "authorization", "credential",
                                                          "api_key",  "apikey",        "access_key"};

// Returns the text without the words after "password:", "token=" and the like, also in JSON that is escaped.
std::string WithoutAssignedSecrets(std::string_view text) {
  std::string out;
  const std::string lower = ToLower(text);
  std::size_t at = 0;
  while (true) {
    std::size_t found = std::string::npos, after = 0;
    // The earliest word counts, so that one pass goes through the text from left to right.
    for (std::string_view word : kSecretWords) {
      std::size_t next = lower.find(word, at);
      if (next >= found) continue;
      found = next;
      after = next + word.size();
    }
    if (found == std::string::npos) return out + std::string(text.substr(at));
    std::size_t value = text.find_first_not_of("\\\"' :=", after);
    bool assigned = value != std::string_view::npos &&
                    text.substr(after, value - after).find_first_of(":=") != std::string_view::npos;
    // Without ":" or "=", the word is part of a sentence ("no token for this registry"), and what follows
    // stays.
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

// Returns the text without the word after "Basic" or "Bearer", if that may be a credential.
std::string WithoutSchemes(std::string_view text) {
  std::string out;
  const std::string lower = ToLower(text);
  std::size_t at = 0;
  while (at < text.size()) {
    for (std::string_view scheme : {"bearer ", "basic "}) {
      if (!std::string_view(lower).substr(at).starts_with(scheme)) continue;
      const std::size_t begin = at + scheme.size();
      const std::size_t end = std::min(text.find_first_of(" \\\"',;}", begin), text.size());
      // A short word is English ("basic auth"), and "[redacted]" is there already.
      if (end - begin < kShortestCredential || text[begin] == '[') continue;
      out.append(text.substr(at, scheme.size())).append(kRedacted);
      at = end;
    }
    if (at < text.size()) out += text[at++];
  }
  return out;
}

// Returns the text without long runs that look like tokens or keys.
std::string WithoutLongTokens(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), MayBeInAToken) - text.begin());
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

// Returns whether the name of a variable or field shows that its value is a secret.
bool IsSecretName(std::string_view name) {
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view word) { return ContainsIgnoreCase(name, word); });
}

}  // namespace

std::string SanitizedText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also) {
  // Known secrets go first, in the text as it came: each later step changes bytes by which they are found.
  // The cut comes last, so that it leaves no beginning of a secret behind.
  return Truncate(InOneLine(WithoutUrlSecrets(WithoutWebTokens(Redact(text, also)))), bytes);
}

bool MayBeSecret(std::string_view name, std::string_view value) {
  return IsSecretName(name) || (value.size() >= kShortestValue && !value.starts_with('/'));
}

void RememberVariable(std::string_view name, std::string_view value) {
  if (IsSecretName(name)) RememberSecret(Secret(std::string(value)));
}

std::string PluginText(std::string_view text, std::size_t bytes, const std::vector<const Secret*>& also) {
  const std::string clean = InOneLine(WithoutUrlSecrets(WithoutWebTokens(Redact(text, also))));
  return Truncate(WithoutLongTokens(WithoutSchemes(WithoutAssignedSecrets(clean))), bytes);
}

}  // namespace prefetch::base
