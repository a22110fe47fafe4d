#include "list/draft.h"

#include <algorithm>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/write.h"

namespace prefetch::list {
namespace {

constexpr std::size_t kMostPlaces = 2;

// "image: nginx:1.27", quoted where YAML wants it.
std::string ImageMember(const std::string& name) {
  std::string yaml = doc::WriteYaml(doc::Node::Mapping().Set("image", doc::Node::String(name)));
  return std::string(base::TrimSpace(yaml));
}

}  // namespace

void ListDraft::Add(const image::Reference& reference, std::string from) {
  std::pair name(reference.Normalized(), reference.written());
  Image& image = images_.try_emplace(std::move(name), Image{reference, {}, 0}).first->second;
  image.uses++;
  bool known = std::find(image.from.begin(), image.from.end(), from) != image.from.end();
  if (image.from.size() < kMostPlaces && !known && !from.empty())
    image.from.push_back(base::InOneLine(from));  // it must not end its comment
}

std::string ListDraft::Comment(const Image& image) {
  if (image.from.empty()) return "";
  std::string text = base::Join(image.from, ", ");
  std::size_t more = image.uses - std::min(image.uses, image.from.size());
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string ListDraft::Write(DraftOutput output, const std::vector<std::string>& notes) const {
  std::string text;
  std::vector<doc::Node> nodes;
  if (!notes.empty() && output != DraftOutput::kJson) {
    text = "# Not in this list:\n";
    for (const std::string& note : notes) text += "# " + base::InOneLine(note) + "\n";
  }
  if (output == DraftOutput::kYaml) {
    text += "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:" +
            std::string(images_.empty() ? " []\n" : "\n");
  }
  for (const auto& known : images_) {
    const Image& image = known.second;
    const std::string& name = image.reference.written();
    std::string comment = Comment(image);
    switch (output) {
      case DraftOutput::kYaml:
        text += "- " + ImageMember(name) + (comment.empty() ? "" : "  # " + comment) + "\n";
        break;
      case DraftOutput::kText:
        text += (comment.empty() ? "" : "# " + comment + "\n") + name + "\n";
        break;
      case DraftOutput::kJson:
        nodes.push_back(doc::Node::Mapping().Set("image", doc::Node::String(name)));
        break;
    }
  }
  if (output != DraftOutput::kJson) return text;
  return doc::WritePrettyJson(doc::Node::Mapping()
                                  .Set("apiVersion", doc::Node::String("prefetchd.dev/v1alpha1"))
                                  .Set("kind", doc::Node::String("ImageList"))
                                  .Set("images", doc::Node::Sequence(std::move(nodes))));
}

}  // namespace prefetch::list
