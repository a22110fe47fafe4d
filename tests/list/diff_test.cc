#include "list/diff.h"

#include <gtest/gtest.h>

#include "list/draft.h"
#include "list/image_list.h"
#include "list/merge.h"
#include "rows.h"

namespace prefetch::list::diff_test {
namespace {

plan::ImageList List(const std::string& images) {
  std::string text = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:" +
                     std::string(images.empty() ? " []\n" : "\n") + images;
  auto content = DecodeSource("images.yaml", text, {.refresh = true, .touch = true, .registry_checks = true});
  EXPECT_TRUE(content.ok()) << content.error().message();
  if (!content) return {};
  return Merge({{{.name = "images.yaml"}, std::make_shared<const SourceContent>(*std::move(content))}});
}

std::string Shown(const std::vector<ListChange>& changes) {
  std::string text;
  for (const ListChange& change : changes) {
    const char* marks[] = {"-", "+", "~"};
    text += std::string(marks[static_cast<int>(change.kind)]) + change.image + "@" + change.place;
    for (const FieldChange& field : change.fields)
      text += " " + field.field + ":" + field.from + ">" + field.to;
    text += "\n";
  }
  return text;
}

struct DiffCase {
  std::string name, from, to, expect;
};
TEST_TABLE(ListDiffTest, Says, DiffCase) {
  EXPECT_EQ(Shown(DiffLists(List(row.from), List(row.to))), row.expect);
}
TEST_ROWS(All, ListDiffTest, {"Nothing", "", "", ""},
          {"OrderSpellingAndComments", "- image: q.io/a:v1\n- image: nginx:1.27\n",
           "# now\n- {image: \"docker.io/library/nginx:1.27\", required: true}\n- image: q.io/a:v1\n", ""},
          {"OneMoreSpelling", "- image: nginx:1.27\n", "- image: nginx:1.27\n- image: library/nginx:1.27\n",
           "~nginx:1.27@images.yaml:4 spellings:nginx:1.27>library/nginx:1.27 nginx:1.27\n"},
          {"SpellingsInAnotherOrder", "- image: nginx:1.27\n- image: library/nginx:1.27\n",
           "- image: library/nginx:1.27\n- image: nginx:1.27\n", ""},
          {"LatestAmongSpellings", "- image: library/nginx\n- image: nginx:latest\n",
           "- image: library/nginx:latest\n- image: nginx\n", ""},
          {"LatestInOneListOnly", "- image: nginx\n- image: nginx:latest\n", "- image: nginx:latest\n",
           "~nginx:latest@images.yaml:4 spellings:nginx nginx:latest>nginx:latest\n"},
          {"AnotherTagIsAnotherImage", "- image: q.io/a:v1\n", "- image: q.io/a:v2\n",
           "-q.io/a:v1@images.yaml:4\n+q.io/a:v2@images.yaml:4\n"},
          {"ForAnotherPod", "- {image: q.io/a:v1, readyAs: {secrets: [{namespace: ci, name: pull}]}}\n",
           "- {image: q.io/a:v1, readyAs: {serviceAccount: {namespace: ci, name: runner, uid: u-1}}}\n",
           "~q.io/a:v1@images.yaml:4 readyAs:secret ci/pull>service account ci/runner (UID u-1)\n"},
          {"ForAnyPod", "- {image: q.io/a:v1, readyAs: {secrets: [{namespace: ci, name: pull}]}}\n",
           "- {image: q.io/a:v1}\n", "~q.io/a:v1@images.yaml:4 readyAs:secret ci/pull>default\n"},
          {"Changed", "- {image: q.io/a, priority: 5, refresh: Always, platforms: [linux/amd64]}\n",
           "- {image: q.io/a, required: false, refresh: IfDigestChanged}\n",
           "~q.io/a@images.yaml:4 refresh:Always>IfDigestChanged priority:5>default "
           "platforms:[\"linux/amd64\"]>default required:default>false\n"});

ListDraft Draft() {
  ListDraft draft;
  auto add = [&](const char* image, const char* from) { draft.Add(*image::Reference::Parse(image), from); };
  add("quay.io/acme/b:v1", "b.yaml:3");
  add("nginx:1.27", "a.yaml:1");
  add("docker.io/library/nginx:1.27", "a.yaml:9");
  add("quay.io/acme/b:v1", "b.yaml:3");
  add("quay.io/acme/b:v1", "c.yaml:1");
  add("quay.io/acme/b:v1", "d.yaml:1");
  add("localhost/x", "odd\n- image: evil");
  return draft;
}

TEST(ListDraft, AsYaml) {
  EXPECT_EQ(Draft().Write(DraftOutput::kYaml),
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
            "- image: docker.io/library/nginx:1.27  # a.yaml:9\n"
            "- image: nginx:1.27  # a.yaml:1\n"
            "- image: localhost/x  # odd - image: evil\n"
            "- image: quay.io/acme/b:v1  # b.yaml:3, c.yaml:1 and 1 more\n");
}

TEST(ListDraft, AsText) {
  EXPECT_EQ(Draft().Write(DraftOutput::kTxt),
            "# a.yaml:9\ndocker.io/library/nginx:1.27\n"
            "# a.yaml:1\nnginx:1.27\n"
            "# odd - image: evil\nlocalhost/x\n"
            "# b.yaml:3, c.yaml:1 and 1 more\nquay.io/acme/b:v1\n");
}

// The agent takes the printed list.
TEST(ListDraft, IsAListInEveryForm) {
  for (const auto& [output, name] :
       {std::pair(DraftOutput::kYaml, "l.yaml"), std::pair(DraftOutput::kTxt, "l.txt"),
        std::pair(DraftOutput::kJson, "l.json")}) {
    auto content = DecodeSource(name, Draft().Write(output), {});
    ASSERT_TRUE(content.ok()) << content.error().message();
    EXPECT_EQ(content->entries.size(), 4U) << name;
    auto empty = DecodeSource(name, ListDraft().Write(output), {});
    ASSERT_TRUE(empty.ok()) << empty.error().message();
    EXPECT_TRUE(empty->entries.empty());
  }
}

}  // namespace
}  // namespace prefetch::list::diff_test
