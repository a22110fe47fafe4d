#include "base/redactor.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>

#include "base/decoded_views.h"
#include "base/large_text.h"
#include "base/mutex.h"
#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kRun = 12;              // the shortest part of a secret that is redacted
constexpr std::size_t kShortestSecret = 3;    // shorter ones would blank half of the text
constexpr std::size_t kShortestEnd = 4;       // of a secret that a limit has cut
constexpr std::size_t kMostText = 16 * 1024;  // decoded twice, it takes 16 MiB of memory
constexpr std::size_t kLongText = 1024;       // 1 MiB of memory
constexpr std::size_t kMostOfASecret = 8192;  // a long one must not push out many others
constexpr std::size_t kMostOfAText = 512;     // secrets that are searched for beside those of the store
constexpr std::size_t kShortestWord = 6;      // base64 of kShortestEnd characters

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
  View view = WithoutEscapes(AsItIs(secret));
  std::string other = FoldedText(view.text);
  if (other != form) use(other);
  WipeString(form);
  WipeString(other);
}

// The parts of a text that are secret. The text is decoded in each way that may hide a secret, and all runs
// of kRun characters are hashed once. A secret then costs one look-up for each of its runs, however long the
// text is.
class Marks {
 public:
  explicit Marks(std::string_view text)
      : text_(text), secret_(text.size(), false), in_word_(text.size(), false) {
    View plain = WithoutEscapes(AsItIs(text)), raw = AsItIs(text);
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
      ForEachRun(view.text, [&](std::size_t, std::uint64_t hash) { runs_.push_back({hash, false}); });
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
  void MarkIn(Marks& marks) PREFETCH_EXCLUDES(mutex_) {
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
  std::deque<std::shared_ptr<const Secret>> secrets_
      PREFETCH_GUARDED_BY(mutex_);  // folded; the newest is the last
  std::size_t bytes_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

// Secrets that registries and plugins hand out have a store of their own. However many there are, they never
// push out those of the node's configuration.
struct Stores {
  Store own, handed_out;
};

Stores& Secrets() {
  static auto* stores = new Stores;  // lives as long as detached threads do
  return *stores;
}

// Returns the longest of the secrets, kMostOfAText at most. A plugin may write a hundred thousand short ones,
// and the search for each of them costs as much as for a long one.
std::vector<const Secret*> Longest(std::vector<const Secret*> secrets) {
  std::erase(secrets, nullptr);
  if (secrets.size() <= kMostOfAText) return secrets;
  std::nth_element(secrets.begin(), secrets.begin() + kMostOfAText, secrets.end(),
                   [](const Secret* a, const Secret* b) { return a->Reveal().size() > b->Reveal().size(); });
  secrets.resize(kMostOfAText);
  return secrets;
}

}  // namespace

void RememberSecret(const Secret& secret, SecretOrigin origin) {
  ForEachPart(secret.Reveal(), [&](std::string_view part) {
    ForEachForm(part.substr(0, kMostOfASecret), [&](std::string_view form) {
      if (origin == SecretOrigin::kSent && Secrets().own.Renew(form)) return;
      (origin == SecretOrigin::kOwn ? Secrets().own : Secrets().handed_out).Add(form);
    });
  });
}

std::string Redact(std::string_view text, const std::vector<const Secret*>& also) {
  const OneLargeText turn(text.size(), kLongText);
  // The rest of a longer text is dropped, not passed on: it was not searched.
  Marks marks(text.substr(0, kMostText));
  Secrets().own.MarkIn(marks);
  Secrets().handed_out.MarkIn(marks);
  for (const Secret* secret : Longest(also)) {
    ForEachPart(secret->Reveal(), [&](std::string_view part) {
      ForEachForm(part, [&](std::string_view form) { marks.Add(form); });
    });
  }
  return marks.Redacted();
}

}  // namespace prefetch::base
