#include "list/draft.h"

#include <optional>

#include "base/text.h"
#include "image/written_name.h"

namespace prefetch::list {
namespace {

constexpr std::string_view kApart = " \t\r\"'`()[]{}<>,;=";
constexpr std::string_view kTransport = "docker://";  // as skopeo and podman write it

struct Word {
  std::string_view text;
  std::size_t offset = 0;  // in its line
};

std::vector<Word> WordsOf(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kApart); at != std::string_view::npos;) {
    std::size_t end = std::min(line.find_first_of(kApart, at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = line.find_first_not_of(kApart, end);
  }
  return words;
}

// "nginx:1.27", "acme/app@sha256:…"; not "12:30", "std::string" or "a:b:c".
bool HasTagOrDigest(const image::Reference& reference, std::string_view word) {
  bool letter = false;
  for (char c : word.substr(0, word.find(':'))) letter = letter || (c >= 'a' && c <= 'z');
  return letter &&
         (reference.has_digest() || word.substr(word.rfind('/') + 1).find(':') != std::string_view::npos);
}

std::optional<MarkedImage> ImageIn(std::string_view line, std::uint32_t number) {
  std::optional<MarkedImage> found;
  for (Word word : WordsOf(line)) {
    if (word.text.starts_with(kTransport)) {
      word.text.remove_prefix(kTransport.size());
      word.offset += kTransport.size();
    }
    bool registry = image::NamesRegistry(word.text);
    auto reference = image::Reference::Parse(word.text);
    if (!reference || (!registry && (found || !HasTagOrDigest(*reference, word.text)))) continue;
    found = MarkedImage{*reference, {number, static_cast<std::uint32_t>(word.offset + 1)}};
    if (registry) break;
  }
  return found;
}

}  // namespace

std::vector<MarkedImage> ReadMarkedImages(std::string_view text, std::string_view marker,
                                          doc::Problems& problems) {
  std::vector<MarkedImage> images;
  if (marker.empty() || text.find(marker) == std::string_view::npos) return images;
  std::vector<std::string_view> lines = base::Split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); i++) {
    std::size_t at = lines[i].find(marker);
    if (at == std::string_view::npos) continue;
    auto number = static_cast<std::uint32_t>(i + 1);
    // The marker itself may look like a name.
    std::string blanked(lines[i]);
    blanked.replace(at, marker.size(), marker.size(), ' ');
    std::optional<MarkedImage> image = ImageIn(blanked, number);
    std::size_t next = i + 1;
    while (!image && next < lines.size() && base::TrimSpace(lines[next]).empty()) next++;
    if (!image && next < lines.size()) image = ImageIn(lines[next], static_cast<std::uint32_t>(next + 1));
    if (image) {
      images.push_back(*std::move(image));
    } else {
      problems.Add({number, static_cast<std::uint32_t>(at + 1)}, "",
                   "no image name stands in the line of this marker, nor in the next one");
    }
  }
  return images;
}

}  // namespace prefetch::list
