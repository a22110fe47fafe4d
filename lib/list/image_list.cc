#include "list/image_list.h"

#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/problems.h"
#include "doc/reader.h"
#include "doc/yaml.h"
#include "list/entry_fields.h"

namespace prefetch::list {
namespace {

using doc::Need;
using doc::ObjectReader;
using doc::Problems;
using doc::Reader;

// Returns why `text` cannot be an image name, for those mistakes where quoting the text could publish a
// password; empty if it may be a name. The error messages appear in the status and in logs.
std::string_view NameProblem(std::string_view text) {
  if (text.find("://") != std::string_view::npos) return "must be an image name, not a URL";
  std::size_t at = text.find('@');
  if (at != std::string_view::npos && text.find('/', at) != std::string_view::npos) {
    return "must be an image name, without user name and password";
  }
  if (text.find_first_of(" \t\r\n") != std::string_view::npos)
    return "must be one image name, without blanks";
  if (text.find_first_of("\"'") != std::string_view::npos) return "must be an image name, without quotes";
  if (text.find("\xC2\xA0") != std::string_view::npos)
    return "has a no-break space (U+00A0): write it without";
  if (text.find("\xE2\x80\x8B") != std::string_view::npos)
    return "has a zero-width space (U+200B), which cannot be seen: write it without";
  return {};
}

// Collects the entries of one source, and the names that it has so far.
class Collector {
 public:
  explicit Collector(Problems& problems) : problems_(problems) {}

  // Returns nullopt, and reports the problem, if `text` is no image name or if the source already lists the
  // same spelling. Another spelling of a name is an entry of its own, since kubelet distinguishes them.
  std::optional<image::Reference> ParseName(std::string_view text, doc::Position at,
                                            const std::string& path) {
    if (std::string_view wrong = NameProblem(text); !wrong.empty()) {
      problems_.Add(at, path, wrong);
      return std::nullopt;
    }
    base::Result<image::Reference> reference = image::Reference::Parse(text);
    if (!reference) {
      problems_.Add(at, path, reference.error().message());
      return std::nullopt;
    }
    auto [first, is_new] = lines_.emplace(reference->written(), at.line);
    if (is_new) return *std::move(reference);
    problems_.Add(at, path,
                  "is " + first->first + ", which is in line " + std::to_string(first->second) + " already");
    return std::nullopt;
  }

  // Lines of a plain list have no fields that could differ, so a repeated line is only a warning.
  bool Repeats(std::string_view name, doc::Position at) {
    auto first = lines_.find(std::string(name));
    if (first == lines_.end()) return false;
    content_.warnings.push_back(problems_.source() + ":" + std::to_string(at.line) + ": is " + first->first +
                                ", which is in line " + std::to_string(first->second) + " already");
    return true;
  }

  void Add(ListEntry entry) { content_.entries.push_back(std::move(entry)); }
  SourceContent Take() { return std::move(content_); }

 private:
  Problems& problems_;
  std::unordered_map<std::string, std::uint32_t> lines_;  // name as written -> its line
  SourceContent content_;
};

bool TooMany(std::size_t entries, doc::Position at, Problems& problems) {
  if (entries <= kMaxEntries) return false;
  problems.Add(at, "", "has more than " + std::to_string(kMaxEntries) + " images");
  return true;
}

SourceContent DecodeText(std::string_view bytes, Problems& problems) {
  Collector collector(problems);
  std::optional<std::string_view> text = doc::CheckText(bytes, kMaxSourceBytes, problems);
  if (!text) return {};
  std::size_t count = 0;
  std::uint32_t number = 0;
  for (std::string_view line : base::Split(*text, '\n')) {
    number++;
    std::string_view name = base::TrimSpace(line);
    auto column = static_cast<std::uint32_t>(name.empty() ? 1 : name.data() - line.data() + 1);
    doc::Position at{number, column};
    // The length is checked before the line is quoted in any message.
    if (line.size() > kMostLineBytes) {
      problems.Add(at, "", "the line is longer than " + std::to_string(kMostLineBytes) + " bytes");
      continue;
    }
    if (name.empty() || name.starts_with('#')) continue;
    if (TooMany(++count, at, problems)) break;
    if (collector.Repeats(name, at)) continue;
    std::optional<image::Reference> reference = collector.ParseName(name, at, "");
    if (!reference) continue;
    ListEntry entry;
    entry.image.reference = *std::move(reference);
    entry.at = at;
    collector.Add(std::move(entry));
  }
  return collector.Take();
}

void DecodeEntry(const Reader& item, const plan::DesiredImage& defaults, const Capabilities& capabilities,
                 Collector& collector) {
  ObjectReader object(item);
  std::size_t before = item.problems().count();
  ListEntry entry;
  entry.image = defaults;
  entry.at = item.node().at;
  std::optional<Reader> name = object.Find("image", Need::kRequired);
  std::optional<std::string> text = name ? name->String() : std::nullopt;
  if (text) {
    if (auto reference = collector.ParseName(*text, name->node().at, name->path())) {
      entry.image.reference = *std::move(reference);
    }
  }
  const FieldNames own = ReadFields(object, capabilities, entry.image);
  object.Finish();
  // An entry with a mistake is left out: its contradictions would follow from the mistake. The source as a
  // whole is rejected anyway.
  if (item.problems().count() > before) return;
  CheckContradictions(object, own, entry.image);
  DropUnusedDefaults(entry.image);
  collector.Add(std::move(entry));
}

SourceContent DecodeDocument(const doc::Node& root, const Capabilities& capabilities, Problems& problems) {
  Collector collector(problems);
  ObjectReader object(Reader(root, problems));
  object.Expect("apiVersion", kListApiVersion);
  object.Expect("kind", kListKind);
  plan::DesiredImage defaults;
  if (std::optional<ObjectReader> written = object.Object("defaults")) {
    const FieldNames fields = ReadFields(*written, capabilities, defaults);
    written->Finish();
    if (CheckStrict(*written, fields, defaults) && defaults.max_age &&
        *defaults.max_age < defaults.refresh_interval) {
      written->Fail("maxAge", "must not be shorter than refreshInterval");
    }
  }
  // An empty `images:` is a list without images. A missing `images` is a mistake.
  const doc::Node* images = root.Find("images");
  std::vector<Reader> items = object.Items("images", images == nullptr ? Need::kRequired : Need::kOptional);
  object.Finish();
  if (TooMany(items.size(), images == nullptr ? root.at : images->at, problems)) return {};
  for (const Reader& item : items) DecodeEntry(item, defaults, capabilities, collector);
  return collector.Take();
}

}  // namespace

bool IsListFileName(std::string_view name) {
  if (name.starts_with('.')) return false;
  return name.ends_with(".txt") || name.ends_with(".yaml") || name.ends_with(".yml") ||
         name.ends_with(".json");
}

SourceFormat FormatOfText(std::string_view text) {
  if (text.starts_with(doc::kByteOrderMark)) text.remove_prefix(doc::kByteOrderMark.size());
  for (std::string_view line : base::Split(text, '\n')) {
    line = base::TrimSpace(line);
    if (line.empty() || line.starts_with('#')) continue;
    // Only the first line that is neither blank nor a comment decides.
    if (line.starts_with('{')) return SourceFormat::kJson;
    if (image::Reference::Parse(line)) return SourceFormat::kPlain;
    // A quoted name is a mistake in a plain list. The error message for plain text names the quotes; the one
    // for YAML would be about the document.
    const bool quoted =
        line.size() > 1 && (line.front() == '"' || line.front() == '\'') && line.back() == line.front();
    if (quoted) return SourceFormat::kPlain;
    bool key = line.ends_with(':') || line.find(": ") != std::string_view::npos;
    bool structure = std::string_view("-%[!&*?|>\"'").find(line.front()) != std::string_view::npos;
    return key || structure ? SourceFormat::kYaml : SourceFormat::kPlain;
  }
  return SourceFormat::kPlain;
}

base::Result<SourceContent> DecodeSource(const std::string& name, std::string_view bytes,
                                         const Capabilities& capabilities) {
  const SourceFormat form = FormatOfText(bytes);
  // A YAML document may begin with "{" as well, and YAML's rules then allow more than JSON's do.
  const bool is_json = form == SourceFormat::kJson && !name.ends_with(".yaml") && !name.ends_with(".yml");
  Problems problems(name);
  SourceContent content;
  if (form == SourceFormat::kPlain) {
    content = DecodeText(bytes, problems);
  } else if (!base::TrimSpace(bytes).empty()) {
    doc::Limits limits{.bytes = kMaxSourceBytes};
    std::optional<doc::Node> root = is_json ? doc::ParseJson(bytes, problems, doc::JsonRules::kStrict, limits)
                                            : doc::ParseYaml(bytes, problems, limits);
    bool nothing = root && root->kind == doc::Node::Kind::kNull && problems.empty();
    if (root && !nothing) content = DecodeDocument(*root, capabilities, problems);
  }
  if (!problems.empty()) return problems.ToStatus().error();
  if (capabilities.keeps_text) content.text = bytes;
  return content;
}

}  // namespace prefetch::list
