// The page of the list.
#include <string>

#include "list/image_list.h"
#include "reference/page_parts.h"
#include "reference/schema.h"

namespace prefetch::reference {
namespace {

// Returns the fields of the document itself, or those of an entry.
Fields PartOfList(bool entry) {
  Fields part;
  for (const Field& field : ListFields()) {
    const bool below = field.path.find('.') != std::string::npos;
    if (entry ? field.path.starts_with("images[].") : !below) part.push_back(field);
  }
  return part;
}

std::string Row(const char* name, std::size_t value) {
  return std::string("| ") + name + " | " + std::to_string(value) + " |\n";
}

}  // namespace

std::string ListPage() {
  std::string page =
      "# The list\n\n"
      "A list is plain text with one reference a line, or YAML or JSON of kind `ImageList`.\n"
      "[Change the list](../change-the-list.md) explains how to write and deploy it. The agent "
      "rejects\n"
      "unknown fields, wrong types and fields that contradict each other. `prefetchctl list check` reports "
      "all of these\n"
      "with file, line and column.\n\n";
  page += kGenerated;
  page +=
      "\n```yaml\n"
      "# yaml-language-server: $schema=list.schema.json\n"
      "apiVersion: prefetchd.dev/v1alpha1\n"
      "kind: ImageList\n"
      "defaults:\n"
      "  refresh: IfDigestChanged\n"
      "images:\n"
      "- image: ghcr.io/acme/runner:v3\n"
      "  priority: 10\n"
      "- image: ghcr.io/acme/tools@sha256:90f7f8d0b7c9e3c5f2a1d4b6e8c0a2f4d6b8e0c2a4f6d8b0e2c4a6f8d0b2e4c6\n"
      "  required: false\n"
      "```\n\n"
      "Editors check the file while you write it, if the schema is beside it:\n\n"
      "```sh\n"
      "prefetchctl schema list > list.schema.json\n"
      "```\n\n"
      "## Fields of the document\n\n";
  page += TableOf(PartOfList(false), TableFor::kInput);
  page +=
      "\n## Fields of an entry\n\n"
      "`defaults` has the same fields, without `image`. `null` means that the field is not given.\n\n";
  page += TableOf(PartOfList(true), TableFor::kInput, "images[].");
  page +=
      "\n## Durations\n\n"
      "A duration is a text such as `90s`, `10m` or `1h30m`. The units are `ms`, `s`, `m` and `h`. A bare "
      "number is an\n"
      "error. Durations of a list are whole seconds.\n\n"
      "## Limits of a source\n\n| limit | value |\n|---|---|\n";
  page += Row("bytes of a file", list::kMaxSourceBytes);
  page += Row("entries of a file", list::kMaxEntries);
  page += Row("bytes of a line of plain text", list::kMostLineBytes);
  page += Row("files of a directory", list::kMostDirectoryEntries);
  return page;
}

}  // namespace prefetch::reference
