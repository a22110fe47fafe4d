#include "list/draft.h"

#include <gtest/gtest.h>

#include "list/image_list.h"

namespace prefetch::list::draft_test {
namespace {

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
  EXPECT_EQ(Draft().Write(DraftOutput::kText),
            "# a.yaml:9\ndocker.io/library/nginx:1.27\n"
            "# a.yaml:1\nnginx:1.27\n"
            "# odd - image: evil\nlocalhost/x\n"
            "# b.yaml:3, c.yaml:1 and 1 more\nquay.io/acme/b:v1\n");
}

// What is printed is a list that the agent takes.
TEST(ListDraft, IsAListInEveryForm) {
  for (const auto& [output, name] :
       {std::pair(DraftOutput::kYaml, "l.yaml"), std::pair(DraftOutput::kText, "l.txt"),
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
}  // namespace prefetch::list::draft_test
